/** What can be seen on this machine: Node, the rules file, the folder of counters. */
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Settings } from '../../config.js'
import { lockHolder } from '../../counters/folder-lock.js'
import { loadRules } from '../../rules-file/load-rules.js'
import { STANDARD_FILE } from '../../startup-sense.js'
import { countOf, type Finding, fail, ok, warn } from './finding.js'

export function nodeFinding(version: string): Finding {
  const major = Number(version.slice(1).split('.')[0])
  const said = `node ${version}`
  // Odd ones are never kept up for long.
  return major % 2 === 0 ? ok(said) : warn(`${said} gets no long support`, 'nvm install 22')
}

export async function rulesFindings({ rules }: Settings): Promise<Finding[]> {
  if (rules === 'feed') return [ok('rules are those of a control plane, over Redis')]
  const file = rules ?? STANDARD_FILE
  if (!exists(file))
    return [
      rules === undefined
        ? ok(`${file} is not here: serve takes its rules from a database`)
        : fail(`${file} is not here`, '--rules FILE'),
    ]
  const loaded = await loadRules(file)
  if ('faults' in loaded) {
    const [first] = loaded.faults
    const count = countOf(loaded.faults.length, 'fault')
    return [
      fail(
        `${file} has ${count}; the first at ${first!.line}:${first!.column}: ${first!.message}`,
        `sluice rules validate ${file}`,
      ),
    ]
  }
  const count = loaded.rules.size
  const good = ok(`${file}, ${countOf(count, 'rule')}`)
  return [good, ...loaded.warnings.map((warning) => warn(`${file}: ${warning}`))]
}

export function folderFinding({ data }: Settings): Finding {
  const name = `${data.replace(/\/$/, '')}/`
  const there = exists(data)
  if (there && !statSync(data).isDirectory()) return fail(`${data} is no folder`, '--data DIR')
  try {
    accessSync(there ? data : dirname(resolve(data)), constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return fail(`${name} cannot be written (${code}): serve would not start`, '--data DIR')
  }
  if (!there) return ok(`${name} is not here yet; serve makes it`)
  const holder = lockHolder(data)
  return ok(
    `${name} can be written, ${holder === null ? 'in use by nobody' : `in use by ${holder}`}`,
  )
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
