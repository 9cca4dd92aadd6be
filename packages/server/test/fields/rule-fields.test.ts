/** Every field of a rule, changed alone: it is read, patched through the API, described in plans and logs, and documented. */
import { readFileSync } from 'node:fs'
import {
  DOCUMENT_OBJECTS,
  DOCUMENT_PART_SCHEMAS,
  fieldWords,
  printDefault,
  printField,
  propertiesOf,
  routeOf,
  rulesFileSchema,
} from '@sluice/contract'
import { type RuleInput, RuleSet } from '@sluice/limiter'
import {
  differingFields,
  OWN_FIELDS,
  type OwnField,
  RULE_FIELD_NAMES,
  RULE_FIELDS,
} from '@sluice/limiter/transport'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeChanges } from '../../src/rules-file/describe-changes.js'
import { BASE, changed, documentOf, OTHER, ruleOf, without } from './changed-rules.js'
import { Planes } from './planes.js'

let planes: Planes
beforeAll(async () => {
  planes = await Planes.start()
})
afterAll(async () => {
  await planes.stop()
})

describe.each(OWN_FIELDS)('the field %s', (field) => {
  const { effect, change } = RULE_FIELDS[field]

  it('is read alone, and has a default', () => {
    const before = ruleOf(BASE)
    const after = ruleOf(changed(field))
    expect(differingFields(before, after)).toEqual([field])
    expect(printField(after, field)).not.toEqual(printField(before, field))
    if (!(field in BASE)) expect(printField(before, field)).toEqual(printDefault(field))
  })

  it('is described when a file is reloaded', async () => {
    const [before, after] = [BASE, changed(field)].map((one) => RuleSet.compile(documentOf(one)))
    const { isChanged, lines } = await describeChanges(before!, after!)
    expect(isChanged).toBe(true)
    const words = fieldWords(field, printField(after!.book.rules[0]!, field))
    expect(lines).toContainEqual(expect.stringContaining(`-> ${words}`))
    if (field !== 'limits') expect(lines.join('\n')).toContain(`${field} `)
  })

  it('is created, patched, planned, taken away and kept in history through the API', async () => {
    const { control, data } = planes
    const namespace = `field-${field.replaceAll('_', '-')}`
    const headers = { 'If-Match': '*' }
    const created = await control.call('POST', '/v1/rules', { name: 'a', namespace, ...BASE })
    expect(created.status).toBe(201)
    const path = `/v1/rules/${created.body.id}`
    const patched = await control.call('PATCH', path, { [field]: OTHER[field] }, headers)
    expect(patched.status).toBe(200)
    const printed = printField(ruleOf(changed(field)), field)
    expect(patched.body[field]).toEqual(printed)
    expect(created.body[field]).toEqual(printField(ruleOf(BASE), field))
    const listed = await control.call('GET', `/v1/rules?namespace=${namespace}`)
    expect(listed.body.items[0][field]).toEqual(printed)
    const inForce = () => data.book(namespace)?.rules.find(({ name }) => name === 'a')
    await expect
      .poll(() => inForce() && printField(inForce()!, field), { timeout: 10_000, interval: 5 })
      .toEqual(printed)

    const document = `/v1/document?namespace=${namespace}&dry_run=1`
    const { body: plan } = await control.call('PUT', document, { rules: { a: BASE } }, headers)
    const [step] = plan.changes
    expect([step.what, step.name, step.change]).toEqual(['rule', 'a', 'changed'])
    expect(step.before).toContain(fieldWords(field, printed))
    expect(step.counters).toBe(change === 'counters' ? 'start anew' : 'carry over')

    const sentBack = await control.call('PUT', path, patched.body, headers)
    expect([sentBack.status, sentBack.body[field]]).toEqual([200, printed])
    const cleared = await control.call(
      'PATCH',
      path,
      { [field]: (BASE as Partial<RuleInput>)[field] ?? null },
      headers,
    )
    expect(cleared.body[field]).toEqual(created.body[field])
    const history = await control.call('GET', `${path}/history`)
    expect(history.body.items.map(({ rule }: { rule: object }) => rule[field as never])).toEqual([
      created.body[field],
      printed,
      printed,
      created.body[field],
    ])
  })

  it(
    effect === 'not in force yet'
      ? 'warns wherever it is accepted'
      : 'is accepted without a warning',
    async () => {
      const { control } = planes
      const rule = changed(field)
      const warned = RuleSet.compile(documentOf(rule)).book.warnings.map(({ code, path }) => [
        code,
        path,
      ])
      const namespace = `warned-${field.replaceAll('_', '-')}`
      const created = await control.call('POST', '/v1/rules', { name: 'a', namespace, ...rule })
      const document = `/v1/document?namespace=${namespace}&dry_run=1`
      const planned = await control.call('PUT', document, documentOf(rule))
      if (effect !== 'not in force yet') {
        expect(warned).toEqual([])
        expect([created.body.warnings, planned.body.warnings]).toEqual([undefined, undefined])
        return
      }
      const code = 'not_in_force_yet'
      const message = 'is not in force yet'
      expect(warned).toEqual([[code, `rules.a.${field}`]])
      expect(created.body.warnings).toEqual([{ code, field, message }])
      expect(planned.body.warnings).toEqual([{ code, field: `rules.a.${field}`, message }])
    },
  )
})

/** The fields of a rule in the release before this one: replaced by this release's when the next is begun. */
const PREVIOUS_RELEASE: readonly string[] =
  `scope value tier resource methods limits tiers additive unit enabled shadow rollout failure_mode reach
  shards lease description`.split(/\s+/)

function isRead(document: object): boolean {
  try {
    RuleSet.compile(document)
    return true
  } catch {
    return false
  }
}

describe('every field', () => {
  const schema = rulesFileSchema() as {
    $defs: { rule: { properties: Record<string, { description?: string }> } }
  }

  it('is in the schema of rules files, in the API and in the reference', () => {
    const reference = readFileSync(
      new URL('../../../../docs/reference/rule-fields.md', import.meta.url),
      'utf8',
    )
    expect(Object.keys(schema.$defs.rule.properties)).toEqual(RULE_FIELD_NAMES)
    for (const field of RULE_FIELD_NAMES) expect(reference).toContain(`| \`${field}\` |`)
    const parts = { document: DOCUMENT_PART_SCHEMAS, ...DOCUMENT_OBJECTS }
    for (const schemas of Object.values(parts))
      for (const [field, { description }] of Object.entries<{ description?: string }>(schemas))
        expect(reference).toContain(`| \`${field}\` | ${description} |`)
    for (const id of ['createRule', 'replaceRule', 'patchRule'] as const)
      expect(Object.keys(propertiesOf(routeOf(id).body!))).toEqual(
        expect.arrayContaining([...OWN_FIELDS]),
      )
    expect(Object.keys(propertiesOf(routeOf('getRule').answer!))).toEqual(
      expect.arrayContaining([...OWN_FIELDS]),
    )
  })

  it('that the previous release does not know is marked new, and in the notes on upgrading', () => {
    const known = [...OWN_FIELDS, 'tiers'].filter((name) => PREVIOUS_RELEASE.includes(name))
    expect(known.toSorted()).toEqual(PREVIOUS_RELEASE.toSorted())
    const notes = readFileSync(
      new URL('../../../../docs/operate/service.md', import.meta.url),
      'utf8',
    )
    const isNew = (name: string) => !PREVIOUS_RELEASE.includes(name)
    // Else it is stored while instances run that cannot read the rule, and lose it.
    for (const name of RULE_FIELD_NAMES)
      expect([name, RULE_FIELDS[name].isNew]).toEqual([name, isNew(name)])
    const unnoted = RULE_FIELD_NAMES.filter((name) => isNew(name) && !notes.includes(`\`${name}\``))
    expect(unnoted, 'say in docs/operate/service.md what upgrading means for them').toEqual([])
  })

  it.each(RULE_FIELD_NAMES)('as the reader takes it is as the schema has it: %s', (name) => {
    const printed = rulesFileSchema() as { $defs: object }
    const accepts = new Ajv2020({ strict: false }).compile(printed)
    const texts = [1, 63, 64, 65, 100, 101, 500, 501, 1000, 5000].map((n) => 'a'.repeat(n))
    const odd = ['', 'a b', 'a:b', 'a\n', '-', '😀', 0, 1, -1, 0.5, 99, 101, 1024, 1025, 1e9, true]
    const values = [...texts, ...odd, false, null, [], ['a'], ['GET'], {}, { a: 'b' }, { a: 1 }]
    for (const value of [...values, OTHER[name as OwnField], ['x'.repeat(64)], { 'a:b': 'c' }]) {
      const document = documentOf({ ...BASE, [name]: value })
      if (isRead(document)) expect([value, accepts(document)]).toEqual([value, true])
    }
  })

  it('is refused by rules that cannot have it', () => {
    for (const field of OWN_FIELDS) {
      const rule = { ...without(BASE, 'resource'), [field]: OTHER[field] } as RuleInput
      const compile = () => RuleSet.compile({ default_rule: rule })
      if (RULE_FIELDS[field].inDefaultRule) expect(compile).not.toThrow()
      else expect(compile).toThrow(`default_rule.${field}: does not go with the default rule`)
    }
  })

  it('is the same in all variants of a rule where it must be', () => {
    for (const field of OWN_FIELDS.filter((name) => name !== 'tier')) {
      const variant = { ...changed(field), tier: 'pro' } as RuleInput
      const compile = () => RuleSet.compile({ rules: { a: BASE, 'a@pro': variant } })
      if (RULE_FIELDS[field].sameInFamily) expect(compile).toThrow('shares its counters with a')
      else expect(compile).not.toThrow()
    }
  })
})
