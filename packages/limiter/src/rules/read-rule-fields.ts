/** Readers of single fields of a rule: each answers a value that can be used, and notes what is wrong. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import type { Limit } from '../limits/limit.js'
import { MOST_SHARDS } from '../limits/split.js'
import type { Cidr } from './ip-address.js'
import { readLimitList } from './read-limits.js'
import { lengthOf, lineFault, readValue, SCOPE, TIER, UNIT } from './words.js'

/** The limits of one tier of a rule, and where in the document they are. */
export interface TierLimits {
  readonly tier: string
  readonly limits: readonly Limit[]
  readonly path: string
}

export function readScope(reader: FieldReader): string {
  const scope = reader.text('scope')
  if (scope === undefined) {
    if (!reader.has('scope'))
      reader.fault('scope', 'is missing', {
        expected: 'user, api_key, ip, org, global or a name of your own',
      })
  } else if (!SCOPE.test(scope))
    reader.fault(
      'scope',
      `${quote(scope)} is not a small letter, then small letters, digits or _, at most 32`,
    )
  return scope ?? ''
}

export function readRuleValue(reader: FieldReader): string | Cidr | null {
  const text = reader.text('value')
  if (text === undefined) return null
  const scope = reader.get('scope')
  if (scope === 'global') reader.fault('value', 'the scope global has no values')
  const value = readValue(typeof scope === 'string' ? scope : '', text)
  if (typeof value === 'string' || 'bits' in value) return value
  reader.fault('value', value.fault)
  return null
}

export function readTier(reader: FieldReader, name: string): string | null {
  const tier = reader.text('tier') ?? null
  if (tier !== null && !TIER.test(tier)) reader.fault('tier', `${quote(tier)} is not a tier's name`)
  const named = name.includes('@') ? name.split('@')[1] : undefined
  if (named !== undefined && named !== tier)
    reader.fault(
      'tier',
      `a rule named ${quote(name)} is of tier ${quote(named)}, not ${quote(tier)}`,
    )
  return tier
}

export function readTiers(reader: FieldReader, timezone: string): TierLimits[] {
  if (!reader.has('tiers')) return []
  if (reader.has('tier')) reader.fault('tiers', 'a rule of one tier has no others')
  return (reader.entries('tiers', 'limits by tier') ?? []).map(([tier, limits]) => {
    if (!TIER.test(tier)) reader.fault('tiers', `${quote(tier)} is not a tier's name`)
    const path = `${reader.pathOf('tiers')}.${tier}`
    return { tier, limits: readLimitList(limits, path, reader, timezone), path }
  })
}

export function readUnit(reader: FieldReader): string {
  const unit = reader.text('unit') ?? 'requests'
  if (!UNIT.test(unit))
    reader.fault('unit', `${quote(unit)} is not a small letter, then small letters, digits or _`)
  return unit
}

export function readRollout(reader: FieldReader): number {
  const rollout = reader.has('rollout') ? reader.get('rollout') : 100
  if (typeof rollout === 'number' && rollout >= 0 && rollout <= 100) return rollout
  reader.fault('rollout', `${quote(rollout)} is not a number of percent from 0 to 100`)
  return 100
}

export function readShards(reader: FieldReader): number {
  const shards = reader.has('shards') ? reader.get('shards') : 1
  if (Number.isInteger(shards) && (shards as number) >= 1 && (shards as number) <= MOST_SHARDS)
    return shards as number
  reader.fault('shards', `${quote(shards)} is not a whole number from 1 to ${MOST_SHARDS}`)
  return 1
}

/** The name of what the limits follow. */
export function readTarget(reader: FieldReader): string | null {
  const target = reader.text('adaptive')
  if (target === undefined) return null
  if (TIER.test(target)) return target
  reader.fault('adaptive', `${quote(target)} is not a target's name`)
  return null
}

export const LONGEST_MESSAGE = 500

/** A text for callers. */
export function readMessage(reader: FieldReader): string | null {
  const message = reader.text('message')
  if (message === undefined) return null
  const fault = messageFault(message)
  if (fault === undefined) return message
  reader.fault('message', fault)
  return null
}

function messageFault(message: string): string | undefined {
  if (message === '') return 'is empty; leave it out'
  if (lengthOf(message) > LONGEST_MESSAGE) return `is longer than ${LONGEST_MESSAGE} characters`
  return lineFault(message)
}
