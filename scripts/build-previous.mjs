// Builds the previous release, which scripts/previous-release.txt names, into .cache/previous/<commit>, and
// prints that folder. What was built before is used again. Needs git and the clone's history.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './run.mjs'

const file = 'scripts/previous-release.txt'
const commit = readFileSync(join(ROOT, file), 'utf8')
  .split('\n')
  .find((line) => /^[0-9a-f]{40}$/.test(line))
if (commit === undefined) fail(`${file} names no commit: write its 40 hex digits on a line.`)

const folder = join(ROOT, '.cache/previous', commit)
const archive = readCommit(commit)
const mark = join(folder, 'built-with')
const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8')
const isSameLock = lock === git(['show', `${commit}:package-lock.json`]).stdout.toString()
// Links to this project's dependencies are good for as long as both have the same.
const builtWith = isSameLock ? 'links to dependencies\n' : 'dependencies of its own\n'
const isBuilt = existsSync(mark) && readFileSync(mark, 'utf8') === builtWith
if (!isBuilt) {
  console.error(`Building the previous release, ${commit.slice(0, 8)} ...`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  step('tar', ['-x'], archive())
  if (isSameLock) linkDependencies()
  else step('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  step('npm', ['run', 'build'])
  refuseForeignSources()
  writeFileSync(mark, builtWith)
}
console.log(folder)

/** Checks that the commit is in this clone. Returns a function that packs its files. */
function readCommit(hash) {
  const found = git(['cat-file', '-e', `${hash}^{commit}`])
  if (found.error?.code === 'ENOENT')
    fail('Upgrades are tested with git. Get it: sudo apt-get install git')
  if (found.status !== 0) {
    const isShallow = git(['rev-parse', '--is-shallow-repository']).stdout.toString().trim()
    const why = isShallow === 'true' ? 'this clone has no history' : firstLine(found.stderr)
    const fetch = isShallow === 'true' ? 'git fetch --unshallow' : `git fetch origin ${hash}`
    fail(
      `The previous release, commit ${hash.slice(0, 8)}, is missing: ${why}. In a clone, get it: ${fetch}`,
    )
  }
  return () => git(['archive', hash]).stdout
}

function git(args) {
  // The folder may belong to another user than the one who runs the tests.
  const options = { cwd: ROOT, maxBuffer: 2 ** 30 }
  return spawnSync('git', ['-c', `safe.directory=${ROOT.replace(/\/$/, '')}`, ...args], options)
}

/**
 * Links each dependency, but not the packages of this repository: those are the previous release's own.
 */
function linkDependencies() {
  for (const place of ['.', ...workspaces()]) {
    const from = join(ROOT, place, 'node_modules')
    if (!existsSync(from) || !existsSync(join(folder, place))) continue
    const to = join(folder, place, 'node_modules')
    mkdirSync(to)
    for (const name of readdirSync(from)) {
      if (name !== '@sluice') link(join(from, name), join(to, name))
    }
  }
  const own = join(folder, 'node_modules/@sluice')
  mkdirSync(own)
  for (const name of readdirSync(join(folder, 'packages'))) {
    const path = join(folder, 'packages', name)
    if (lstatSync(path).isDirectory()) link(path, join(own, name))
  }
}

function workspaces() {
  return readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}`)
}

function link(to, at) {
  symlinkSync(relative(join(at, '..'), to), at)
}

/** The bundle names the files that it is made of. Sources outside of its folder would be those of this release. */
function refuseForeignSources() {
  const bundle = readFileSync(join(folder, 'packages/server/dist/sluice.cjs'), 'utf8')
  const [foreign] = /^\/\/ \.\.\/[./]*packages\/[^/]+\/(?:src|dist)\/.*$/m.exec(bundle) ?? []
  if (foreign !== undefined)
    fail(`The previous release was built with sources of this one: ${foreign}`)
}

function step(command, args, input) {
  const done = spawnSync(command, args, { cwd: folder, input, maxBuffer: 2 ** 30 })
  if (done.status === 0) return
  const said = [done.error, done.stdout, done.stderr].map((part) => String(part ?? '')).join('')
  fail(`The previous release cannot be built: ${command} ${args.join(' ')} failed.\n${said}`)
}

function firstLine(output) {
  return output.toString().trim().split('\n')[0]
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
