// `npm run test:mutations [-- word …]`: whether the tests notice what they are there to notice. Each entry of
// `mutations/` breaks one guard of the code by a few lines and names the test that must fail. All of it
// happens in a copy of this checkout. An entry whose text is no longer in the file is an error too.
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
import { ensureCommand, ensureDependencies } from './ensure.mjs'
import { MUTATIONS } from './mutations/list.mjs'
import { ROOT } from './run.mjs'

const COPY = join(ROOT, '.cache/mutations')
const REPORT = join(COPY, 'report.json')
/** A break may make a test loop for ever: then it is ended, and counts as noticed. */
const LONGEST_SECONDS = 300

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const isSearch = process.argv.includes('--find')

ensureDependencies()
ensureCommand('redis-server', 'redis-server')
ensureCommand('lua5.1', 'lua5.1')
makeCopy()

const wanted = MUTATIONS.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
)
const escaped = []
if (!isSearch) checkUnbroken(wanted)
for (const [i, mutation] of wanted.entries()) {
  process.stderr.write(`\r\x1b[K${i + 1} of ${wanted.length}: ${mutation.name} ...`)
  const { failed, isHung } = broken(mutation)
  process.stderr.write('\r\x1b[K')
  if (isSearch) {
    console.log(`${mutation.name}: ${isHung ? 'hangs' : `${failed.length} tests`}`)
    for (const test of failed) console.log(`    ${test}`)
  } else {
    const isCaught = isHung || failed.includes(mutation.test.name)
    if (!isCaught) escaped.push(mutation.name)
    console.log(`${isCaught ? 'caught ' : 'ESCAPED'}  ${mutation.name}${isHung ? ' (hangs)' : ''}`)
  }
}
rmSync(COPY, { recursive: true, force: true })
if (isSearch) process.exit(0)
console.log(`${wanted.length - escaped.length} caught, ${escaped.length} escaped`)
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
  build()
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

function inCopy(command, args) {
  const env = { ...process.env, NO_COLOR: '1' }
  return spawnSync(command, args, { cwd: COPY, encoding: 'utf8', env })
}

/** Without any break all named tests pass. */
function checkUnbroken(mutations) {
  const files = [...new Set(mutations.map(({ test }) => test.file))]
  const names = new Set(mutations.map(({ test }) => test.name))
  const { passed, failed } = runTests(files, '', files.length * LONGEST_SECONDS)
  const missing = [...names].filter((name) => !passed.includes(name))
  if (missing.length === 0) return
  console.error('Without any break these do not pass, or do not exist:')
  for (const name of missing) console.error(`    ${name}${failed.includes(name) ? ' (fails)' : ''}`)
  process.exit(1)
}

function build() {
  const built = inCopy('npx', ['tsc', '-b'])
  if (built.status !== 0) throw new Error(built.stdout)
}

/** The names of the tests that fail with this break, or that they hang. */
function broken({ name, file, find, replace, also, test, isBuilt }) {
  const path = join(COPY, file)
  const text = readFileSync(path, 'utf8')
  const isInScript = file.includes('/algorithms/') || file.endsWith('.lua')
  const prepare = () => {
    if (isInScript) inCopy('node', ['scripts/generate-lua.mjs'])
    if (isBuilt) build()
  }
  let changed = replaced(name, text, find, replace)
  if (also !== undefined) changed = replaced(name, changed, also.find, also.replace)
  try {
    writeFileSync(path, changed)
    prepare()
    return runTests([test.file], isSearch ? '' : test.name)
  } finally {
    writeFileSync(path, text)
    prepare()
  }
}

function replaced(name, text, find, replace) {
  const times = text.split(find).length - 1
  if (times !== 1) throw new Error(`${name}: its text is there ${times} times`)
  return text.replace(find, () => replace)
}

/** Only what fails by itself counts: a file that does not even load has found nothing. */
function runTests(files, pattern = '', seconds = LONGEST_SECONDS) {
  rmSync(REPORT, { force: true })
  const only = pattern === '' ? [] : ['-t', pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')]
  const args = ['vitest', 'run', '--reporter=json', `--outputFile=${REPORT}`, ...only, ...files]
  // Ends vitest's workers too, which `spawnSync` would leave running.
  const done = inCopy('timeout', ['--signal=KILL', String(seconds), 'npx', ...args])
  if (done.signal === 'SIGKILL' || done.status === 137)
    return { passed: [], failed: [], isHung: true }
  if (!existsSync(REPORT)) throw new Error(`${done.stdout}${done.stderr}`)
  const { testResults } = JSON.parse(readFileSync(REPORT, 'utf8'))
  const all = testResults.flatMap(({ assertionResults }) => assertionResults)
  const named = (status) =>
    all.filter((each) => each.status === status).map((each) => each.fullName)
  return { passed: named('passed'), failed: named('failed'), isHung: false }
}
