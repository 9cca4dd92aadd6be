/** What the README says of the service is what it does: its commands are run, its rules are read. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DECISION_FIELD_NAMES, LIMIT_FIELD_NAMES, plainFields } from '@sluice/contract'
import { RULE_FIELD_NAMES } from '@sluice/limiter/transport'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { until } from '../../limiter/test/redis/servers.js'
import { treeOf } from '../src/cli/commands/completion.js'
import { programOf } from '../src/cli/program.js'
import { terminalOf } from '../src/cli/terminal.js'
import { SETTINGS, variableOf } from '../src/config.js'
import { readRules } from '../src/rules-file/read-rules.js'
import { SluiceProcess } from './process.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const stdout = { write: () => undefined, isTTY: false }
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = ['README.md'].concat(
  readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
)
const blocks = (language: string) =>
  pages.flatMap((page) =>
    [...read(page).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
      (match) => ({
        page,
        text: match[1]!,
      }),
    ),
  )

/** Lines in order; … stands for anything. */
function expectLines(said: string, expected: string): void {
  let rest = said.replaceAll('\r', '')
  for (const line of expected.split('\n').filter((one) => one !== '')) {
    const pattern = new RegExp(line.split('…').map(escaped).join('.*'), 'm')
    expect(rest).toMatch(pattern)
    rest = rest.slice(rest.search(pattern))
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

let sluice: SluiceProcess
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-readme-'))
  copyFileSync(join(root, 'sluice.yaml'), join(folder, 'sluice.yaml'))
  sluice = new SluiceProcess(['serve', '--dev', '--port', '0'], { folder })
  await until('it is ready', async () => (await sluice.get('/readyz')).status === 200)
})
afterAll(async () => {
  await sluice.stop('SIGKILL')
})

describe('the README', () => {
  it('shows what the service says when it starts', () => {
    const [, banner] = /^```\n(Sluice .*?)^```$/ms.exec(read('README.md'))!
    const here = (text: string) => text.replaceAll('localhost:4290', `localhost:${sluice.port}`)
    const said = sluice.words.replace(/after \d+\.\d s/, 'after 0.1 s')
    expect(said).toContain(here(banner!).replace(/after \d+\.\d s/, 'after 0.1 s'))
  })

  it('has commands that answer what it says, three times yes and then no', () => {
    const { text } = blocks('console')[0]!
    const [command, ...expected] = text.split('\n')
    const line = command!.replace(/^\$ /, '').replace('localhost:4290', `localhost:${sluice.port}`)
    const run = () => spawnSync('sh', ['-c', `${line} -s`], { encoding: 'utf8' }).stdout
    for (let i = 0; i < 3; i++) expect(run()).toContain('HTTP/1.1 200 OK')
    expectLines(run(), expected.join('\n'))
  })
})

describe('the documentation', () => {
  it.each(blocks('yaml'))('has rules that are good: $page', ({ text }) => {
    expect(readRules(text)).not.toHaveProperty('faults')
  })

  it('has a pod whose sidecar takes the arguments and variables that it is given', () => {
    const [manifest] = blocks('yml')
    const { spec } = parse(manifest!.text) as {
      spec: { initContainers: { args: string[]; env: { name: string }[] }[] }
    }
    const { args, env } = spec.initContainers[0]!
    const terminal = terminalOf({ stdin: process.stdin, stdout, stderr: stdout, env: {} })
    const tree = treeOf(programOf(terminal, () => undefined))
    const command = tree.commands.find(({ name }) => name === args[0])!
    const options = new Set(command.options.map(({ long }) => long))
    const flags = args.filter((word) => word.startsWith('--'))
    expect(flags.filter((flag) => !options.has(flag))).toEqual([])
    const variables = new Set(
      Object.entries(SETTINGS).flatMap(([name, setting]) => [
        variableOf(name),
        ...('also' in setting ? (setting.also ?? []) : []),
      ]),
    )
    expect(env.filter(({ name }) => !variables.has(name))).toEqual([])
  })

  it('has rules', () => {
    expect(blocks('yaml').length).toBeGreaterThan(0)
  })
})

/** The part of a page between two texts. */
function partOf(page: string, from: string, to: string): string {
  const text = read(page)
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  expect([start >= 0, end > start]).toEqual([true, true])
  return text.slice(start, end)
}

const namesIn = (text: string) => [...text.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!)

describe('the page on rules', () => {
  it('has a row for every field of a rule, and for nothing else', () => {
    const table = partOf('docs/concepts/rules.md', '## Fields of a rule', '[All fields with')
    const names = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap((row) => namesIn(row[1]!))
    expect(names.toSorted()).toEqual(RULE_FIELD_NAMES.toSorted())
  })
})

describe('the page on the service', () => {
  const page = 'docs/start/service.md'

  it('shows an answer with the fields that every answer has', () => {
    const [, json] = /^```json\n(.*?)^```$/ms.exec(read(page))!
    expect(Object.keys(JSON.parse(json!))).toEqual(plainFields({ include: [], isFull: false }))
  })

  it('names every other field of an answer', () => {
    const named = namesIn(partOf(page, 'A denial also has', 'In front of your API'))
    const shown = plainFields({ include: [], isFull: false })
    const others = DECISION_FIELD_NAMES.filter((name) => !shown.includes(name))
    expect(others.filter((name) => !named.includes(name))).toEqual([])
  })

  it('names every field of a limit, and nothing else', () => {
    const sentence = partOf(page, 'every limit that applies, each with', 'A batch has one')
    expect(namesIn(sentence)).toEqual(LIMIT_FIELD_NAMES)
  })
})
