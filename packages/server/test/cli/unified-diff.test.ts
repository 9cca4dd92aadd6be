import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { unifiedDiff } from '../../src/cli/unified-diff.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-diff-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '  d: 1', ''), { maxLength: 40 })
  .map((lines) => lines.map((line) => `${line}\n`).join(''))

describe('a unified diff', () => {
  it('is what patch makes the one text of the other by', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff({ name: 'x', text: before }, { name: 'x', text: after })
        expect(diff === '').toBe(before === after)
        if (diff === '') return
        const file = join(folder, 'x')
        writeFileSync(file, before)
        const { status } = spawnSync('git', ['apply', '-p0', '--unidiff-zero', '-'], {
          cwd: folder,
          input: diff,
          env: { ...process.env, GIT_DIR: '/nowhere' },
        })
        expect(status).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  it('shows what changes with three lines around', () => {
    const before = Array.from({ length: 20 }, (_, i) => `line ${i}\n`).join('')
    const after = before.replace('line 3\n', 'line three\n').replace('line 15\n', '')
    expect(unifiedDiff({ name: 'old', text: before }, { name: 'new', text: after })).toBe(`--- old
+++ new
@@ -1,7 +1,7 @@
 line 0
 line 1
 line 2
-line 3
+line three
 line 4
 line 5
 line 6
@@ -13,7 +13,6 @@
 line 12
 line 13
 line 14
-line 15
 line 16
 line 17
 line 18
`)
  })

  it('replaces everything where too much differs to look for the shortest way', () => {
    const lines = (name: string) => Array.from({ length: 5000 }, (_, i) => `${name} ${i}`)
    const [old, next] = [lines('old'), lines('new')]
    const textOf = (all: readonly string[]) => all.map((line) => `${line}\n`).join('')
    const diff = unifiedDiff({ name: 'x', text: textOf(old) }, { name: 'y', text: textOf(next) })
    expect(diff.split('\n')).toEqual([
      '--- x',
      '+++ y',
      '@@ -1,5000 +1,5000 @@',
      ...old.map((line) => `-${line}`),
      ...next.map((line) => `+${line}`),
      '',
    ])
  })

  it('takes no notice of a last line that is not ended', () => {
    expect(unifiedDiff({ name: 'x', text: 'a' }, { name: 'y', text: 'a\n' })).toBe('')
  })
})
