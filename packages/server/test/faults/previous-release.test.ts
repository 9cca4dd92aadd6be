/** Without the previous release nothing is tested: why it is missing is said in one line, with what to do. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const FILE = 'scripts/previous-release.txt'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-clone-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function git(cwd: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost']
  const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd })
  if (status !== 0) throw new Error(stderr.toString())
}

/** A folder with the script and what it reads. */
function project(name: string): string {
  const made = join(folder, name)
  mkdirSync(join(made, 'scripts'), { recursive: true })
  for (const file of ['scripts/build-previous.mjs', 'scripts/run.mjs', FILE, 'package-lock.json'])
    cpSync(join(ROOT, file), join(made, file))
  return made
}

/** What the build says on its way to failing. */
function failure(cwd: string, environment: Record<string, string> = {}): string[] {
  const script = join(cwd, 'scripts/build-previous.mjs')
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: folder, ...environment }
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { cwd, env })
  expect([status, stdout.toString()]).toEqual([1, ''])
  return stderr.toString().trim().split('\n')
}

const commit = readFileSync(join(ROOT, FILE), 'utf8').split('\n')[1]!.slice(0, 8)

describe('the previous release', () => {
  it('is asked for with git fetch --unshallow in a clone without history', () => {
    const origin = project('origin')
    git(origin, 'init', '--quiet')
    for (const message of ['one', 'two']) {
      git(origin, 'add', '.')
      git(origin, 'commit', '--quiet', '--allow-empty', '--message', message)
    }
    git(folder, 'clone', '--quiet', '--depth', '1', `file://${origin}`, 'shallow')
    expect(failure(join(folder, 'shallow'))).toEqual([
      `The previous release, commit ${commit}, is missing: this clone has no history. In a clone, get it: git fetch --unshallow`,
    ])
  })

  it('needs a clone', () => {
    const [line, ...more] = failure(project('unpacked'))
    expect(line).toContain(`commit ${commit}, is missing: fatal: not a git repository`)
    expect(more).toEqual([])
  })

  it('needs git', () => {
    expect(failure(project('without-git'), { PATH: folder })).toEqual([
      'Upgrades are tested with git. Get it: sudo apt-get install git',
    ])
  })

  it('is named by its whole hash', () => {
    const made = project('unnamed')
    writeFileSync(join(made, FILE), '8e58b94\n')
    expect(failure(made)).toEqual([`${FILE} names no commit: write its 40 hex digits on a line.`])
  })
})
