// `npm test`: everything that must hold before a change lands. Ends with `N passed, N failed, N skipped`.
// `npm test -- PATH ...` runs the test files under these paths; `npm run test:quick` the tests that start no process.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ensureCommand, ensureDependencies } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

const paths = process.argv.slice(2).filter((argument) => argument !== '--quick')
/** How many files are named that took longest. */
const SLOWEST = 12
const isQuick = process.argv.includes('--quick')
const report = join(ROOT, '.cache/vitest.json')

let passed = 0
let failed = 0
const broken = []
const skipped = []

function timed(name, work) {
  const started = Date.now()
  console.log(`\n== ${name}`)
  work()
  console.log(`== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

function check(name, command, args) {
  timed(name, () => {
    if (run(command, args, { ok: true })) passed++
    else {
      failed++
      broken.push(name)
    }
  })
}

/** Checks that do not need each other, at once. Each prints what it has to say when it has ended. */
async function checkTogether(checks) {
  const ended = checks.map(([name, command, args]) => {
    const started = Date.now()
    return new Promise((resolve) => {
      const options = { cwd: ROOT, maxBuffer: 2 ** 28 }
      execFile(command, args, options, (error, stdout, stderr) => {
        console.log(`\n== ${name}\n${stdout}${stderr}`)
        console.log(`== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`)
        resolve([name, error === null])
      })
    })
  })
  for (const [name, holds] of await Promise.all(ended)) {
    if (holds) passed++
    else {
      failed++
      broken.push(name)
    }
  }
}

function tests(name, args) {
  timed(name, () => {
    rmSync(report, { force: true })
    const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
    const ok = run('npx', ['vitest', 'run', ...reporters, ...args], { ok: true })
    try {
      const { numPassedTests, numFailedTests, testResults } = JSON.parse(
        readFileSync(report, 'utf8'),
      )
      printSlowest(testResults)
      for (const { assertionResults } of testResults)
        for (const { status, fullName } of assertionResults)
          if (status === 'skipped' || status === 'pending') skipped.push(fullName)
      passed += numPassedTests
      failed += numFailedTests
      if (!ok && numFailedTests === 0) failed++
    } catch {
      failed++
    }
    if (!ok) broken.push(name)
  })
}

/** Where the time of a run goes. */
function printSlowest(files) {
  const seconds = ({ startTime, endTime }) => (endTime - startTime) / 1000
  for (const file of files.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST))
    console.log(`${seconds(file).toFixed(1).padStart(6)} s  ${relative(ROOT, file.name)}`)
}

/** What tests start: the server's bundles, and the database that they begin with. */
function buildServer() {
  check('types', 'npx', ['tsc', '-b'])
  check('seed of the embedded database', 'node', ['scripts/make-seed.mjs'])
  check('bundle', 'node', ['scripts/bundle.mjs'])
}

function ensureServers() {
  ensureCommand('lua5.1', 'lua5.1')
  ensureCommand('redis-server', 'redis-server')
  ensureCommand('nginx', 'nginx-light')
  ensureCommand('promtool', 'prometheus')
  ensureCommand('openssl', 'openssl')
  ensureCommand('patch', 'patch')
  ensureCommand('pgrep', 'procps')
  ensureCommand('git', 'git')
  ensureCommand('curl', 'curl')
  ensureCommand('/usr/lib/postgresql/*/bin/postgres', 'postgresql')
}

/** Ends when it has ended. What it says is printed as it comes. */
function inBackground(command, args) {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] })
  return once(child, 'exit')
}

/** `hasPython`: ends when what tests use of PyPI is there. */
async function everything(hasPython) {
  check('generated Lua is fresh', 'node', ['scripts/generate-lua.mjs', '--check'])
  check('format', 'npx', ['biome', 'ci', '--linter-enabled=false', '.'])
  buildServer()
  check('generated reference is fresh', 'node', ['scripts/generate-reference.mjs', '--check'])
  await checkTogether([
    ['lint', 'npx', ['oxlint', '--type-aware', '--deny-warnings']],
    ['import directions', 'npx', ['depcruise', '--config', '.dependency-cruiser.cjs', 'packages']],
    ['dead code', 'npx', ['knip']],
    ['package', 'node', ['scripts/check-package.mjs']],
  ])
  await hasPython
  // The faults need it. Most tests wait for servers, so it is built beside them.
  const isBuilt = inBackground('nice', [process.execPath, 'scripts/build-previous.mjs'])
  tests('tests', ['--project', 'quick', '--project', 'servers'])
  await isBuilt
  // Faults run one file at a time: a machine that is busy with something else looks like a fault itself.
  tests('faults', ['--project', 'faults', '--no-file-parallelism'])
}

mkdirSync(join(ROOT, '.cache'), { recursive: true })
ensureDependencies()
if (isQuick) {
  buildServer()
  tests('quick tests', ['--project', 'quick', ...paths])
} else {
  ensureServers()
  const hasPython = inBackground(process.execPath, ['scripts/ensure-python.mjs'])
  if (paths.length === 0) await everything(hasPython)
  else {
    buildServer()
    await hasPython
    tests(paths.join(' '), ['--no-file-parallelism', ...paths])
  }
}

console.log(broken.length === 0 ? '\nEverything holds.' : `\nBroken: ${broken.join(', ')}`)
for (const name of skipped) console.log(`skipped: ${name}`)
console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`)
process.exit(failed === 0 ? 0 : 1)
