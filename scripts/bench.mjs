// `npm run bench [name …] [--json]`: each case in a process of its own, contenders taking turns in it.
// What counts are the ratios inside a row: machines are noisy.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ensureCommand } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

const FOLDERS = {
  limiter: ['check', 'peers', 'paths', 'rules', 'memory', 'large', 'redis'],
  server: ['http', 'reload', 'feed', 'leases', 'starving'],
}
const SUITES = Object.values(FOLDERS).flat()

function suiteOf(name) {
  const [folder] = Object.entries(FOLDERS).find(([, names]) => names.includes(name))
  return import(new URL(`../packages/${folder}/bench/${name}.mjs`, import.meta.url))
}

if (process.argv[2] === '--case') {
  const [, , , name, index] = process.argv
  const suite = await suiteOf(name)
  const result = await suite.run(suite.cases[Number(index)])
  process.stdout.write(JSON.stringify(result))
  process.exit(0)
}

const json = process.argv.includes('--json')
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const unknown = asked.find((name) => !SUITES.includes(name))
if (unknown !== undefined) {
  console.error(`No benchmark is called ${unknown}. There are: ${SUITES.join(', ')}`)
  process.exit(2)
}
if (asked.length === 0 || ['http', 'leases'].some((name) => asked.includes(name)))
  ensureCommand('wrk', 'wrk')
run('node', ['scripts/build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] })

const say = (text) => process.stderr.write(text)
const report = { node: process.version, cores: availableParallelism(), suites: [] }
for (const name of asked.length > 0 ? asked : SUITES) {
  const suite = await suiteOf(name)
  const rows = []
  for (const [index, { row }] of suite.cases.entries()) {
    say(`\r\x1b[K${name} ${index + 1} of ${suite.cases.length}: ${row} ...`)
    const result = inChild(name, index)
    for (const one of Array.isArray(result) ? result : [{ row, ...result }]) rows.push(one)
  }
  say('\r\x1b[K')
  const goals = suite.goals.map((goal) => judge(goal, rows))
  report.suites.push({ name, title: suite.title, rows, goals })
  if (!json) show(suite.title, rows, goals)
}
if (json) console.log(JSON.stringify(report, null, 2))

function inChild(name, index) {
  const file = fileURLToPath(pathToFileURL(process.argv[1]))
  const args = ['--expose-gc', file, '--case', name, String(index)]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${name} failed: ${stderr}`)
  return JSON.parse(stdout)
}

function judge({ row, column, least, most }, rows) {
  const value = rows.find((one) => one.row === row)?.[column]
  const met = least === undefined ? value <= most : value >= least
  return { row, column, ...(least === undefined ? { most } : { least }), value, met }
}

function number(value) {
  if (typeof value !== 'number' || Number.isNaN(value)) return '-'
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** A table for each run of rows with the same columns, then the goals. */
function show(title, rows, goals) {
  console.log(`\n${title}`)
  const columnsOf = (row) => Object.keys(row).filter((name) => name !== 'row' && name !== 'kept')
  const groups = []
  for (const row of rows) {
    const columns = columnsOf(row)
    if (groups.at(-1)?.columns.join() === columns.join()) groups.at(-1).rows.push(row)
    else groups.push({ columns, rows: [row] })
  }
  for (const group of groups) showTable(group)
  for (const { row, column, least, most: ceiling, value, met } of goals) {
    const wanted = least === undefined ? `at most ${ceiling}` : `at least ${least}`
    console.log(
      `  goal ${met ? 'met ' : 'MISSED'}  ${row}: ${column} ${wanted}, is ${number(value)}`,
    )
  }
}

/** A table, and a bar for the first column of ratios. */
function showTable({ columns, rows }) {
  const charted =
    columns.find((column) => column.includes('ratio') || column.includes('×')) ?? columns[0]
  const cells = rows.map((row) => [row.row, ...columns.map((column) => number(row[column]))])
  const head = ['', ...columns]
  const widths = head.map((text, i) => Math.max(text.length, ...cells.map((row) => row[i].length)))
  const line = (row) =>
    row.map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join('  ')
  console.log(line(head))
  for (const row of cells) console.log(line(row))
  if (rows.length === 1) return console.log()
  const most = Math.max(...rows.map((row) => row[charted] ?? 0))
  console.log(`\n  ${charted}`)
  for (const row of rows) {
    const length = Math.max(1, Math.round((40 * (row[charted] ?? 0)) / most))
    console.log(`  ${row.row.padEnd(widths[0])} ${'█'.repeat(length)} ${number(row[charted])}`)
  }
  console.log()
}
