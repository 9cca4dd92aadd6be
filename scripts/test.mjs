// `npm test`: everything that must hold before a change lands. Ends with `N passed, N failed`.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ensureCommand, ensureDependencies, ensurePython } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

ensureDependencies()
ensureCommand('lua5.1', 'lua5.1')
ensureCommand('redis-server', 'redis-server')
ensureCommand('nginx', 'nginx-light')
ensureCommand('promtool', 'prometheus')
ensureCommand('openssl', 'openssl')
ensureCommand('/usr/lib/postgresql/*/bin/postgres', 'postgresql')
if (!ensurePython('schemathesis'))
  console.log('There is no Python for schemathesis; its test is skipped.')

const cache = join(ROOT, '.cache')
mkdirSync(cache, { recursive: true })

let passed = 0
let failed = 0
const broken = []

function check(name, command, args) {
  const started = Date.now()
  console.log(`\n== ${name}`)
  if (run(command, args, { ok: true })) passed++
  else {
    failed++
    broken.push(name)
  }
  console.log(`== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

check('generated Lua is fresh', 'node', ['scripts/generate-lua.mjs', '--check'])
check('generated schema is fresh', 'node', ['scripts/generate-schema.mjs', '--check'])
check('format', 'npx', ['biome', 'ci', '--linter-enabled=false', '.'])
check('types', 'npx', ['tsc', '-b'])
// Tests of the server start its threads as they are bundled.
check('seed of the embedded database', 'node', ['scripts/make-seed.mjs'])
check('bundle', 'node', ['scripts/bundle.mjs'])
check('generated reference is fresh', 'node', ['scripts/generate-reference.mjs', '--check'])
check('lint', 'npx', ['oxlint', '--type-aware', '--deny-warnings'])
check('import directions', 'npx', ['depcruise', '--config', '.dependency-cruiser.cjs', 'packages'])
check('dead code', 'npx', ['knip'])
check('package', 'node', ['scripts/check-package.mjs'])

function tests(name, args) {
  const report = join(cache, 'vitest.json')
  rmSync(report, { force: true })
  console.log(`\n== ${name}`)
  const started = Date.now()
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${report}`]
  const ok = run('npx', ['vitest', 'run', ...reporters, ...args], { ok: true })
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'))
    passed += numPassedTests
    failed += numFailedTests
    if (!ok && numFailedTests === 0) failed++
  } catch {
    failed++
  }
  if (!ok) broken.push(name)
  console.log(`== ${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

tests('tests', ['--exclude', '**/faults/**'])
// Faults are looked at alone: a machine that is busy with something else looks like a fault itself.
tests('faults', ['--no-file-parallelism', '/faults/'])

console.log(broken.length === 0 ? '\nEverything holds.' : `\nBroken: ${broken.join(', ')}`)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
