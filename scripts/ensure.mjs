// Sees to it that what tests need is there: installs it, or says in one line how to get it.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from './run.mjs'

/** node_modules as package-lock.json says; installs where they differ. */
export function ensureDependencies() {
  const marker = join(ROOT, 'node_modules/.package-lock.json')
  const lock = join(ROOT, 'package-lock.json')
  if (
    existsSync(marker) &&
    statSync(marker).mtimeMs >= statSync(lock).mtimeMs &&
    sameVersions(marker, lock)
  )
    return
  console.log('Installing dependencies (npm ci) ...')
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  if (!run('npm', ['ci', ...quiet], { ok: true })) run('npm', ['install', '--no-save', ...quiet])
}

function sameVersions(marker, lock) {
  const packages = (file) => {
    const all = JSON.parse(readFileSync(file, 'utf8')).packages
    return new Map(Object.entries(all).map(([name, { version }]) => [name, version]))
  }
  const [installed, wanted] = [packages(marker), packages(lock)]
  return [...installed].every(([name, version]) => wanted.get(name) === version)
}

/** A command of a Debian package; a path, perhaps with a *, where it is not on the PATH. */
export function ensureCommand(command, debianPackage) {
  if (has(command)) return
  const root = process.getuid?.() === 0
  if (root && has('apt-get')) {
    console.log(`Installing ${debianPackage} (apt-get) ...`)
    const quiet = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
    const install = ['install', '-y', '--no-install-recommends', debianPackage]
    if (!run('apt-get', install, { ok: true, ...quiet })) {
      run('apt-get', ['update'], { ok: true, ...quiet })
      run('apt-get', install, { ok: true, ...quiet })
    }
    if (has(command)) return
  }
  console.error(`This needs ${command}. Get it: sudo apt-get install ${debianPackage}`)
  process.exit(1)
}

/** A package of PyPI in a folder of its own; false where there is no Python to run it. */
export function ensurePython(name) {
  const folder = join(ROOT, '.cache', name)
  const command = join(folder, 'bin', name)
  if (existsSync(command)) return true
  const quiet = { ok: true, stdio: 'ignore' }
  console.log(`Installing ${name} (pip) ...`)
  return (
    run('python3', ['-m', 'venv', folder], quiet) &&
    run(join(folder, 'bin/pip'), ['install', '-q', name], quiet)
  )
}

function has(command) {
  const look = command.startsWith('/') ? `ls ${command}` : `command -v ${command}`
  return spawnSync('sh', ['-c', look]).status === 0
}
