import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SAMPLE_RULES } from '../../src/cli/commands/init.js'
import { readRules } from '../../src/rules-file/read-rules.js'
import { inOwnFolder, run, runWords, shown } from './command.js'

const folder = inOwnFolder()
const read = (file: string) => readFileSync(file, 'utf8')

const FAULTY = `rules:
  per-user:
    scope: user
    limits: [10/s, 1000/mon]
  keys:
    scope: api_key
    limits: 10/s
    tires: { pro: 20/s }
`
const UNTIDY = 'rules:   # all of them\n    a:   {scope: user, limits: [ 10/s ]}\n'
const TIDY = 'rules:  # all of them\n  a: { scope: user, limits: [10/s] }\n'

describe('init', () => {
  it('writes a file that is valid, formatted and has the rule to try', async () => {
    expect(shown(await run('init'))).toMatchInlineSnapshot(`
      "
      --- words
      Wrote sluice.yaml. Next: sluice serve --dev
      [0]
      "
    `)
    expect(read('sluice.yaml')).toBe(SAMPLE_RULES)
    expect(read('sluice.yaml').split('\n')[0]).toMatch(
      /^# yaml-language-server: \$schema=https:\/\/unpkg\.com\/@sluice\/server@\d+\.\d+\.\d+\/dist\/rules\.schema\.json$/,
    )
    const rules = readRules(SAMPLE_RULES)
    expect(rules).toMatchObject({ warnings: [] })
    expect(SAMPLE_RULES).toContain('hello: { scope: user, resource: /hello, limits: 3 per 10s }')
    expect(await run('rules fmt --check')).toEqual({ code: 0, out: '', words: '' })
  })

  it('never overwrites one unless told to', async () => {
    folder.write('sluice.yaml', 'mine')
    expect(shown(await run('init'))).toMatchInlineSnapshot(`
      "
      --- words
      sluice.yaml is there already and was left as it is. To replace it: sluice init --force
      [1]
      "
    `)
    expect(shown(await run('init --yes'))).toContain('[1]')
    expect(read('sluice.yaml')).toBe('mine')
    expect(shown(await run('init --force --json'))).toMatchInlineSnapshot(`
      "
      {"file":"sluice.yaml","replaced":true}
      --- words
      Replaced sluice.yaml. Next: sluice serve --dev
      [0]
      "
    `)
    expect(read('sluice.yaml')).toBe(SAMPLE_RULES)
  })

  it('names a schema that the package carries', () => {
    const manifest = JSON.parse(read(new URL('../../package.json', import.meta.url).pathname))
    expect(manifest.files).toContain('dist/rules.schema.json')
    const built = new URL('../../dist/rules.schema.json', import.meta.url)
    expect(existsSync(built)).toBe(true)
  })
})

describe('rules validate', () => {
  it('says that a file is good', async () => {
    await run('init')
    expect(shown(await run('rules validate'))).toMatchInlineSnapshot(`
      "
      ok  sluice.yaml  5 rules
      [0]
      "
    `)
    expect((await run('rules validate', { isTerminal: false })).out).toBe(
      'ok\tsluice.yaml\t5 rules\n',
    )
  })

  it('says everything that is wrong, at its place', async () => {
    folder.write('sluice.yaml', FAULTY)
    folder.write('good.yaml', TIDY)
    expect(shown(await run('rules validate good.yaml sluice.yaml'))).toMatchInlineSnapshot(`
      "
      ok  good.yaml  1 rule
      --- words
      sluice.yaml:4:25: unknown unit "mon"
          4 |     limits: [10/s, 1000/mon]
            |                         ^^^ expected s, min, h, d or w
            = a month has no fixed length: "1000 per calendar month" or "1000 per 30d"
      sluice.yaml:8:5: unknown field "tires" in rule keys; did you mean "tiers"?
      2 faults.
      [3]
      "
    `)
  })

  it('warns of what does nothing yet', async () => {
    folder.write('sluice.yaml', 'rules:\n  a: { scope: user, limits: 10/s, reach: global }\n')
    expect(shown(await run('rules validate'))).toMatchInlineSnapshot(`
      "
      ok  sluice.yaml  1 rule
      --- words
      warning sluice.yaml: rules.a.reach is not in force yet
      [0]
      "
    `)
  })

  it('reads stdin', async () => {
    expect(shown(await run('rules validate -', { input: TIDY }))).toMatchInlineSnapshot(`
      "
      ok  <stdin>  1 rule
      [0]
      "
    `)
    expect((await run('rules validate -', { input: FAULTY })).words).toContain('<stdin>:4:25: ')
  })

  it('gives one JSON document', async () => {
    folder.write('bad.yaml', FAULTY)
    folder.write('good.yaml', TIDY)
    const { code, out, words } = await run('rules validate good.yaml bad.yaml --json')
    expect([code, words]).toEqual([3, ''])
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      files: [
        { file: 'good.yaml', ok: true, rules: 1, faults: [] },
        {
          file: 'bad.yaml',
          ok: false,
          faults: [
            { line: 4, column: 25 },
            { line: 8, column: 5 },
          ],
        },
      ],
    })
  })

  it('says that there is no file', async () => {
    mkdirSync('folder')
    for (const [line, words] of [
      ['rules validate', 'There is no sluice.yaml here. Make one: sluice init\n'],
      ['rules validate x.yaml', 'There is no x.yaml here.\n'],
      [
        'rules validate folder',
        'folder cannot be read: EISDIR: illegal operation on a directory, read\n',
      ],
    ] as const)
      expect(await run(line)).toEqual({ code: 1, out: '', words })
  })

  it('shows nothing of a file raw', async () => {
    folder.write('bad.yaml', 'rules:\n  a: { scope: "\u001b[2J", limits: "10/\u009bx" }\n')
    const { words, code } = await run('rules validate bad.yaml')
    expect(code).toBe(3)
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(words).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  })
})

describe('rules fmt', () => {
  it('rewrites in place, keeps the mode, and lists what it changed', async () => {
    folder.write('a.yaml', UNTIDY)
    folder.write('b.yaml', TIDY)
    chmodSync('a.yaml', 0o666)
    const isRoot = process.getuid?.() === 0
    if (isRoot) chownSync('a.yaml', 12_345, 12_345)
    expect(shown(await run('rules fmt a.yaml b.yaml'))).toMatchInlineSnapshot(`
      "
      a.yaml
      [0]
      "
    `)
    expect(read('a.yaml')).toBe(TIDY)
    expect((statSync('a.yaml').mode & 0o777).toString(8)).toBe('666')
    if (isRoot) expect(statSync('a.yaml')).toMatchObject({ uid: 12_345, gid: 12_345 })
    expect(readdirSync('.').toSorted()).toEqual(['a.yaml', 'b.yaml'])
    expect(await run('rules fmt a.yaml')).toEqual({ code: 0, out: '', words: '' })
  })

  it('replaces the file, so that whoever reads it sees all or nothing of the new one', async () => {
    folder.write('a.yaml', UNTIDY)
    const before = statSync('a.yaml').ino
    await run('rules fmt a.yaml')
    expect(statSync('a.yaml').ino).not.toBe(before)
  })

  it('leaves a link a link', async () => {
    mkdirSync('real')
    folder.write('real/a.yaml', UNTIDY)
    symlinkSync('real/a.yaml', 'sluice.yaml')
    await run('rules fmt')
    expect([lstatSync('sluice.yaml').isSymbolicLink(), read('real/a.yaml')]).toEqual([true, TIDY])
  })

  it('only looks with --check', async () => {
    folder.write('a.yaml', UNTIDY)
    folder.write('b.yaml', TIDY)
    expect(shown(await run('rules fmt a.yaml b.yaml --check'))).toMatchInlineSnapshot(`
      "
      a.yaml
      --- words
      1 file would change. To write: sluice rules fmt
      [6]
      "
    `)
    expect(read('a.yaml')).toBe(UNTIDY)
    expect(shown(await run('rules fmt a.yaml b.yaml --check --json'))).toMatchInlineSnapshot(`
      "
      {"changed":["a.yaml"],"written":false}
      [6]
      "
    `)
    expect((await run('rules fmt b.yaml --check')).code).toBe(0)
  })

  it('is a filter with -', async () => {
    expect(await run('rules fmt -', { input: UNTIDY })).toEqual({ code: 0, out: TIDY, words: '' })
    expect((await run('rules fmt - --check', { input: UNTIDY })).code).toBe(6)
  })

  it('writes none where one is faulty', async () => {
    folder.write('a.yaml', UNTIDY)
    folder.write('bad.yaml', FAULTY)
    const { code, out, words } = await run('rules fmt a.yaml bad.yaml')
    expect([code, out, read('a.yaml')]).toEqual([3, '', UNTIDY])
    expect(words).toContain('bad.yaml:4:25: unknown unit "mon"')
    expect((await runWords(['rules', 'fmt', '-'], { input: '\u0000' })).code).toBe(3)
  })
})
