/** Rules files on a real disk, and what happens to them: each test in a folder of its own. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type RulesListener,
  type WatchOptions,
  watchRules,
} from '../../src/rules-file/watched-rules.js'

export const rules = (limit: string) => `rules:\n  a: { scope: user, limits: ${limit} }\n`

export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-rules-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Rules of about 100 bytes each. */
export function manyRules(count: number, limit = '10/s'): string {
  const lines = Array.from(
    { length: count },
    (_, i) =>
      `  rule-${i}:\n    scope: user\n    resource: /v1/things-${i}\n    limits: [${limit}, 1000/h]\n`,
  )
  return `rules:\n${lines.join('')}`
}

/** A watch that keeps what it is told, in words, until someone asks. */
export function watched(path: string, options: WatchOptions = {}) {
  const told: string[] = []
  let arrived: (() => void) | undefined
  const listener: RulesListener = (event) => {
    const words = 'faults' in event ? event.faults.map(({ message }) => message) : event.changes
    told.push(words.join('; '))
    arrived?.()
  }
  const watch = watchRules(path, listener, options)
  onTestFinished(() => watch.close())
  return {
    watch,
    told,
    /** The next thing told, waiting for it. */
    next: async (): Promise<string> => {
      while (told.length === 0) {
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
      }
      return told.shift()!
    },
  }
}

/** A Kubernetes volume: the file is a link through `..data`, which is swapped whole. */
export async function configMap(folder: string, text: string): Promise<string> {
  await swapConfigMap(folder, text)
  const path = join(folder, 'sluice.yaml')
  await symlink(join('..data', 'sluice.yaml'), path)
  return path
}

let versions = 0
export async function swapConfigMap(folder: string, text: string): Promise<void> {
  const version = `..2026_${versions++}`
  await mkdir(join(folder, version))
  await writeFile(join(folder, version, 'sluice.yaml'), text)
  await symlink(version, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
}
