// `npm run test:mutations [-- word …]`: whether the tests notice what they are there to notice. Each entry of
// `mutations/` breaks one guard of the code by a few lines and names the test that must fail. All of it happens in a
// copy of this checkout, with one vitest that stays. Without any break the named tests must pass, before and after.
// An entry whose text is no longer in the file is an error too.
// `--find`: prints every test of that file that fails, for choosing one.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createVitest } from 'vitest/node'
import { ensureCommand, ensureDependencies } from './ensure.mjs'
import { MUTATIONS } from './mutations/list.mjs'
import { ROOT } from './run.mjs'

const COPY = join(ROOT, '.cache/mutations')
const SCRIPT = join(COPY, 'packages/limiter/src/stores/redis/script.ts')
const ALGORITHMS = join(COPY, 'packages/limiter/lua/algorithms.lua')
/** A break may make a test loop for ever: then it is ended, and counts as noticed if the test ends without the break. */
const LONGEST_MS = 200_000
/** Tests that start no process, so no script runs in Redis. */
const IN_PROCESS =
  /packages\/[a-z]+\/src\/|limiter\/test\/(leases|limiter|memory|properties|rules|shards)\//

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isSearch = process.argv.includes('--find')
const wanted = MUTATIONS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
)
if (wanted.length === 0) {
  console.error(`No break's name contains ${words.join(' or ')}.`)
  process.exit(2)
}
// Before the long work: the texts of all of them.
for (const mutation of wanted) brokenText(mutation, readFileSync(join(ROOT, mutation.file), 'utf8'))

ensureDependencies()
ensureCommand('redis-server', 'redis-server')
ensureCommand('lua5.1', 'lua5.1')
ensureCommand('/usr/lib/postgresql/*/bin/postgres', 'postgresql')
makeCopy()
process.chdir(COPY)
let vitest = await openVitest()

const escaped = []
if (!isSearch) await checkUnbroken(wanted)
for (const [i, mutation] of wanted.entries()) {
  const started = performance.now()
  const { failed, isHung } = await broken(mutation)
  if (isHung) await checkUnbroken([mutation])
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const isCaught = isHung || failed.includes(mutation.test.name)
  if (!isCaught) escaped.push(mutation.name)
  const end = `${mutation.name}${isHung ? ' (hangs)' : ''}`
  console.log(
    `${i + 1}/${wanted.length} ${isCaught ? 'caught ' : 'ESCAPED'} ${seconds.padStart(5)} s  ${end}`,
  )
  if (isSearch) for (const test of failed) console.log(`    ${test}`)
}
// A break that had stayed would make others look as if they were caught.
if (!isSearch) await checkUnbroken(wanted)
await vitest.close()
rmSync(COPY, { recursive: true, force: true })
if (isSearch) process.exit(0)
console.log(`${wanted.length - escaped.length} caught, ${escaped.length} escaped`)
for (const name of escaped) console.log(`    ${name}`)
process.exit(escaped.length === 0 ? 0 : 1)

/** The files that git knows or would add, and packages by links; those of this repository lead into the copy. */
function makeCopy() {
  rmSync(COPY, { recursive: true, force: true })
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const file of listed.stdout.split('\n')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue
    mkdirSync(dirname(join(COPY, file)), { recursive: true })
    cpSync(join(ROOT, file), join(COPY, file))
  }
  for (const folder of [
    '.',
    ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`),
  ])
    linkModules(folder)
  // Tests of the server take the library as it is built.
  inCopy('npx', ['tsc', '-b'])
}

function linkModules(folder) {
  const from = join(ROOT, folder, 'node_modules')
  if (!existsSync(from)) return
  const to = join(COPY, folder, 'node_modules')
  mkdirSync(join(to, '@sluice'), { recursive: true })
  for (const name of readdirSync(from))
    if (name !== '@sluice' && !name.startsWith('.vite'))
      symlinkSync(join(from, name), join(to, name))
  if (folder !== '.') return
  for (const name of readdirSync(join(ROOT, 'packages')))
    symlinkSync(join(COPY, 'packages', name), join(to, '@sluice', name))
}

/** Throws what it printed if it fails. */
function inCopy(command, args) {
  const env = { ...process.env, NO_COLOR: '1' }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: COPY, encoding: 'utf8', env })
  if (status !== 0) throw new Error(`${stdout}${stderr}`)
}

function openVitest() {
  return createVitest('test', {
    root: COPY,
    run: true,
    watch: false,
    reporters: [{}],
    fileParallelism: false,
    dangerouslyIgnoreUnhandledErrors: true,
  })
}

/** Without any break all named tests pass; else it ends here. */
async function checkUnbroken(mutations) {
  const names = new Map()
  for (const { test } of mutations)
    names.set(test.file, (names.get(test.file) ?? new Set()).add(test.name))
  const missing = []
  for (const [file, of] of names) {
    process.stderr.write(`\r\x1b[KWithout a break: ${file} ...`)
    const { passed, failed } = await runTests(file, [...of])
    for (const name of of)
      if (!passed.includes(name)) missing.push(`${name}${failed.includes(name) ? ' (fails)' : ''}`)
  }
  process.stderr.write('\r\x1b[K')
  if (missing.length === 0) return
  console.error('Without any break these do not pass, or do not exist:')
  for (const name of missing) console.error(`    ${name}`)
  await vitest.close()
  process.exit(1)
}

function brokenText({ name, find, replace, also }, text) {
  let changed = text
  for (const one of also === undefined ? [{ find, replace }] : [{ find, replace }, also]) {
    const times = changed.split(one.find).length - 1
    if (times !== 1) throw new Error(`${name}: its text is there ${times} times`)
    changed = changed.replace(one.find, () => one.replace)
  }
  return changed
}

/** The names of the tests that fail with this break, or that they hang. */
async function broken(mutation) {
  const { file, test, isBuilt } = mutation
  const path = join(COPY, file)
  const before = [path, SCRIPT, ALGORITHMS].map((one) => [one, readFileSync(one, 'utf8')])
  const isInScript =
    file.endsWith('.lua') || (file.includes('/algorithms/') && !IN_PROCESS.test(test.file))
  const changed = () => {
    if (isBuilt) inCopy('npx', ['tsc', '-b'])
    vitest.invalidateFile(path)
    vitest.invalidateFile(SCRIPT)
    if (isBuilt)
      for (const project of vitest.projects)
        for (const environment of Object.values(project.vite.environments))
          environment.moduleGraph.invalidateAll()
  }
  try {
    writeFileSync(path, brokenText(mutation, before[0][1]))
    if (isInScript) inCopy('node', ['scripts/generate-lua.mjs'])
    changed()
    return await runTests(test.file, isSearch ? [] : [test.name])
  } finally {
    for (const [one, text] of before) writeFileSync(one, text)
    changed()
  }
}

/** Only tests that fail by themselves count: a file that does not even load has found nothing. Without names: all. */
async function runTests(file, names) {
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = names.map((name) => `^${escape(name)}$`).join('|')
  vitest.setGlobalTestNamePattern(names.length === 0 ? /./ : new RegExp(pattern))
  vitest.state.filesMap.clear()
  const specifications = await vitest.globTestSpecifications([join(COPY, file)])
  const longestMs = LONGEST_MS * Math.max(1, names.length)
  const done = await Promise.race([
    vitest.runTestSpecifications(specifications, false),
    wait(longestMs, null, { ref: false }),
  ])
  if (done === null) {
    await endWorkers()
    return { passed: [], failed: [], isHung: true }
  }
  const tests = done.testModules.flatMap(({ children }) => [...children.allTests()])
  const named = (state) =>
    tests
      .filter((test) => test.result().state === state)
      .map(({ fullName }) => fullName.split(' > ').join(' '))
  return { passed: named('passed'), failed: named('failed'), isHung: false }
}

/** A worker in an endless loop hears nothing: it is killed, and vitest opened anew. */
async function endWorkers() {
  for (const pid of descendantsOf(process.pid)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  await Promise.race([vitest.close().catch(() => {}), wait(5000)])
  vitest = await openVitest()
}

function descendantsOf(pid) {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
  const children = stdout.split('\n').filter(Boolean).map(Number)
  return children.flatMap((child) => [...descendantsOf(child), child])
}
