/** The two builds that run together during an upgrade, each as the path of its command. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMMAND } from '../process.js'

export type Build = 'previous' | 'current'
export type Builds = Readonly<Record<Build, string>>

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

/** Building the previous release takes half a minute. Later runs use it again. */
export const BUILD_WITHIN_MS = 300_000

/** Throws with the one line that says why the previous release cannot be built. */
export function readBuilds(): Builds {
  const built = spawnSync(process.execPath, [join(ROOT, 'scripts/build-previous.mjs')])
  if (built.status !== 0) throw new Error(built.stderr.toString().trim())
  const previous = join(built.stdout.toString().trim(), 'packages/server/bin/sluice.cjs')
  return { previous, current: COMMAND }
}
