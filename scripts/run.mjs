// Runs a command of this repository, from its root.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** Ends this process where the command fails, unless `ok` is asked for: then it says whether it did. */
export function run(command, args, options = {}) {
  const { ok = false, ...rest } = options
  const done = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', ...rest })
  const worked = done.status === 0
  if (!worked && !ok) process.exit(done.status ?? 1)
  return ok ? worked : done
}
