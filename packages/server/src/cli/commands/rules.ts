/** `sluice rules`: rules files alone, and the rules of a server one by one; `rules-move.ts` has what moves them. */
import { isDeepStrictEqual } from 'node:util'
import { fieldsInWords, printDefault } from '@sluice/contract'
import { OWN_FIELDS, type OwnField, quote, RULE_FIELDS } from '@sluice/limiter/transport'
import { UsageError } from '../../config.js'
import { isId } from '../../control/ids.js'
import { formatRules } from '../../rules-file/format-rules.js'
import { rulesOf } from '../../rules-file/load-rules.js'
import { printable, printFaults } from '../../rules-file/print-faults.js'
import { command, group } from '../command.js'
import { CommandError, EXIT } from '../exit-codes.js'
import type { ItemOf } from '../operation.js'
import { type RulesSource, readSource, rulesSources, writeWhole } from '../rules-files.js'
import type { ServerClient } from '../server-client.js'
import type { Cell } from '../table.js'
import type { Terminal } from '../terminal.js'
import { printTime } from '../times.js'
import { apply, diff, exported, type PlannedChange, plan, printPlan } from './rules-move.js'

const validate = command('validate', {
  summary: 'say everything that is wrong with rules files',
  description: 'Says everything that is wrong with rules files, and where. Exit 3: something is.',
  arguments: [['[FILE...]', 'sluice.yaml unless given; - is stdin']],
  run: async ({ args: [files], terminal, globals: { json }, show }) => {
    const documents: object[] = []
    let count = 0
    for (const { name, bytes } of await rulesSources(files, terminal)) {
      const read = await rulesOf(bytes)
      if ('faults' in read) {
        const { faults, text } = read
        count += faults.length
        documents.push({ file: name, ok: false, faults, warnings: [] })
        if (!json) terminal.say(printFaults(name, text, faults, { color: terminal.hasColor }))
        continue
      }
      const { warnings } = read
      const size = read.rules.size
      documents.push({ file: name, ok: true, rules: size, faults: [], warnings })
      const ok: Cell = { text: 'ok', style: 'green' }
      show({ data: [[ok, name, size === 1 ? '1 rule' : `${size} rules`]] })
      const head = terminal.paint('yellow', 'warning')
      for (const warning of json ? [] : warnings)
        terminal.say(`${head} ${printable(name)}: ${printable(warning)}\n`)
    }
    const outcome = { json: { ok: count === 0, files: documents } }
    if (count === 0) return outcome
    const words = count === 1 ? '1 fault.' : `${count} faults.`
    return { ...outcome, words, exit: EXIT.invalidRules }
  },
})

const fmt = command('fmt', {
  summary: 'write rules files in their canonical form',
  description:
    'Writes rules files in their canonical form, in place, and lists those that it changed. Comments and meaning stay. A faulty file stops it before any is written.',
  arguments: [['[FILE...]', 'sluice.yaml unless given; - is stdin, written to stdout']],
  options: [['--check', 'write nothing; list what would change. Exit 6: something would']],
  run: async ({ args: [files], options: { check: isCheck = false }, terminal, show }) => {
    const sources = await rulesSources(files, terminal)
    const all = sources.map((source) => format(source, terminal))
    const changed = all.filter(({ isChanged }) => isChanged)
    if (!isCheck) {
      for (const { name, text, isInput } of changed) if (!isInput) writeWhole(name, text)
      for (const { text, isInput } of all) if (isInput) show({ data: text })
    }
    const listed = changed.filter(({ isInput }) => isCheck || !isInput).map(({ name }) => name)
    const outcome = {
      json: { changed: listed, written: !isCheck },
      data: listed.map((name) => [name]),
    }
    if (!isCheck || changed.length === 0) return outcome
    const count = changed.length === 1 ? '1 file' : `${changed.length} files`
    const words = `${count} would change. To write: sluice rules fmt`
    return { ...outcome, words, exit: EXIT.no }
  },
})

function format(source: RulesSource, terminal: Terminal) {
  const { text, made } = readSource(source, terminal, formatRules)
  return { ...source, text: made.text, isChanged: made.text !== text }
}

type Rule = ItemOf<'listRules'>
type Version = ItemOf<'ruleHistory'>

const list = command('list', {
  operation: 'listRules',
  summary: 'list the rules of a server',
  description: 'Lists the rules of the server: name, whom it is for, what it is about, its limits.',
  query: { scope: true, resource: true, label: true },
  columns: (rule) => {
    const { name, scope, value, resource, methods, limits } = rule
    const whom = value === null ? scope : `${scope}:${value}`
    const what = methods === null ? resource : `${methods.join('|')} ${resource}`
    const notes = notesOf(rule)
    const cells: Cell[] = [name, whom, what, limits.join(', ')]
    return notes === '' ? cells : [...cells, notes]
  },
  empty: 'There are no rules.',
})

/** Fields that have a column of their own. */
const IN_COLUMNS = new Set<OwnField>(['scope', 'value', 'resource', 'methods', 'limits'])

/** What is not as it usually is, besides what is for people only. */
function notesOf(rule: Rule): string {
  const noted = OWN_FIELDS.filter(
    (name) =>
      !IN_COLUMNS.has(name) &&
      !RULE_FIELDS[name].effect.startsWith('shown') &&
      rule[name] !== undefined &&
      !isDeepStrictEqual(rule[name], printDefault(name)) &&
      !(name === 'tier' && rule.name.endsWith(`@${rule.tier}`)),
  )
  return noted.map((name) => noteOf(name, rule)).join(', ')
}

function noteOf(name: OwnField, rule: Rule): string {
  if (name === 'enabled') return 'disabled'
  if (name === 'unit') return `in ${rule.unit}`
  return fieldsInWords([name], rule).replace(/ true$/, '')
}

const NAME = ['<NAME>', "the rule's name; its id where it is gone"] as const

const history = command('history', {
  operation: 'ruleHistory',
  also: ['listRules'],
  summary: 'list every version that a rule had',
  description: 'Lists every version that a rule had: when, by whom, and its limits.',
  arguments: [NAME],
  ask: async ({ args: [name], client }) => ({ params: { id: await idOf(client, name) } }),
  columns: ({ version, at, actor, deleted, rule }, { now }) => [
    String(version),
    printTime(at, now),
    actor,
    deleted ? { text: 'deleted', style: 'red' } : rule.limits.join(', '),
  ],
})

const rollback = command('rollback', {
  operation: 'rollbackRule',
  also: ['listRules', 'ruleHistory'],
  summary: 'bring back an earlier version of a rule',
  description:
    'Brings back an earlier version of a rule, as a new version. Shows what changes first and asks; --yes does not ask.',
  arguments: [NAME, ['[VERSION]', 'of the history; the one before the last unless given']],
  run: async ({ args: [name, stated], client, terminal, show, confirm }) => {
    const params = { id: await idOf(client, name) }
    const [newest, ...older] = await client.list('ruleHistory', { params })
    const wanted = wantedOf(stated, older)
    if (newest === undefined || wanted === undefined)
      throw new CommandError(`${printable(name)} has no such version to go back to.`)
    const { version } = wanted
    show({ data: printPlan([changeOf(newest, wanted)], terminal) })
    await confirm(`Bring back version ${version}?`)
    const asking = { params, body: { version }, ifMatch: `"${newest.version}"` }
    const { body } = await client.call('rollbackRule', asking)
    const words = `${name} is as it was in version ${version}; that is version ${body.version}.`
    return { json: body, words }
  },
})

function wantedOf(stated: string | undefined, older: readonly Version[]): Version | undefined {
  if (stated === undefined) return older.find(({ deleted }) => !deleted)
  if (!/^\d{1,9}$/.test(stated))
    throw new UsageError(`the version is ${quote(stated)}; expected a number of the history`)
  return older.find(({ version, deleted }) => version === Number(stated) && !deleted)
}

function changeOf({ deleted, rule: was }: Version, { rule: is }: Version): PlannedChange {
  const differing = OWN_FIELDS.filter((field) => !isDeepStrictEqual(was[field], is[field]))
  const fields: readonly OwnField[] = deleted || differing.length === 0 ? ['limits'] : differing
  const after = fieldsInWords(fields, is)
  const base = { what: 'rule', name: is.name, after, counters: null } as const
  return deleted
    ? { ...base, change: 'added', before: null }
    : { ...base, change: 'changed', before: fieldsInWords(fields, was) }
}

/** Rules are asked for by id; people know names. */
async function idOf(client: ServerClient<'listRules'>, name: string): Promise<string> {
  if (isId(name)) return name
  for await (const rule of client.items('listRules')) if (rule.name === name) return rule.id
  throw new CommandError(
    `There is no rule ${printable(name)}. See: sluice rules list. What was deleted has its id in the audit.`,
  )
}

export const rules = group(
  'rules',
  'check rules files, and move them to and from a server',
  'Checks and formats rules files, and moves rules between files and a server.',
  [validate, fmt, plan, diff, apply, exported, list, history, rollback],
)
