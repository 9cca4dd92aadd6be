/** Refuses what instances of an older release could not read, and would therefore not enforce. */
import { isDeepStrictEqual } from 'node:util'
import { printDefault } from '@sluice/contract'
import type { RuleInput } from '@sluice/limiter'
import type { OwnField } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { type NamespaceSettings, NEW_RULE_FIELDS, NEW_SETTINGS } from '../feed/change.js'
import type { ControlContext } from './context.js'

/** How many instances an error names. */
const MOST_NAMED = 10

/** What is to be stored. */
interface Stored {
  readonly settings?: NamespaceSettings
  /** A field that is null is taken away. */
  readonly rules: Iterable<{ readonly body: Readonly<Record<string, unknown>> | RuleInput }>
}

/** Throws 409 with the first field or setting that some running instance does not know. */
export async function refuseForOlder(
  { lacking }: Pick<ControlContext, 'lacking'>,
  { settings = {}, rules }: Stored,
): Promise<void> {
  const names = new Set<string>(NEW_SETTINGS.filter((name) => settings[name] !== undefined))
  for (const body of bodiesOf(settings, rules))
    for (const name of NEW_RULE_FIELDS)
      if (body[name] !== undefined && !isAsUnstated(name, body[name])) names.add(`rules.${name}`)
  if (names.size === 0) return
  for (const [name, instances] of await lacking([...names])) {
    const named = instances.slice(0, MOST_NAMED).join(', ')
    const count = instances.length === 1 ? '1 instance' : `${instances.length} instances`
    const field = name.replace(/^rules\./, '')
    throw new ServiceError(
      'older_instances',
      `${field} cannot be read by ${count} of an older release (${named}); replace them first, or leave it out until then`,
      { field },
    )
  }
}

/** Null takes a field away, and a default is not stored. */
function isAsUnstated(name: OwnField, value: unknown): boolean {
  return value === null || isDeepStrictEqual(value, printDefault(name))
}

function* bodiesOf(
  { default_rule }: NamespaceSettings,
  rules: Stored['rules'],
): Iterable<Readonly<Record<string, unknown>>> {
  if (default_rule !== undefined) yield { ...default_rule }
  for (const { body } of rules) yield body as Readonly<Record<string, unknown>>
}
