/** How a limiter is made: from a single limit, from rules, or from rules compiled before. */
import type { Clock } from './clock.js'
import { Decider } from './decider.js'
import { SluiceError } from './errors.js'
import { didYouMean, quote } from './faults.js'
import { Limiter } from './limiter.js'
import type { LimitText } from './limits/limit-text.js'
import type { BuiltInScope, RulesDocument } from './rules/document.js'
import { DOCUMENT_PARTS } from './rules/document-parts.js'
import type { RuleInput } from './rules/rule-fields.js'
import { RuleSet } from './rules/rule-set.js'
import { memoryStore } from './stores/memory/store.js'
import type { Store, TimedStore } from './stores/store.js'

interface Parts {
  /** Where the counters live; this process's memory unless given. */
  readonly store?: Store | TimedStore
  /** Milliseconds since the epoch; `Date.now` unless given. Read at every check. */
  readonly clock?: Clock
}

type Rules<Scope extends string> = Readonly<Record<string, RuleInput<Scope>>>

export interface LimiterOptions<Scope extends string>
  extends Omit<RulesDocument<Scope>, 'rules'>,
    Parts {
  readonly rules: Rules<Scope> | RuleSet
}

const KNOWN = [...Object.keys(DOCUMENT_PARTS), 'store', 'clock']

/** One limit for everyone, counted by `subject.key`. */
export function createLimiter(
  limit: LimitText | readonly LimitText[],
  parts?: Parts,
): Limiter<'key'>
export function createLimiter<const Scope extends string>(
  options: LimiterOptions<Scope>,
): Limiter<Scope | BuiltInScope>
export function createLimiter(what: unknown, parts: Parts = {}): Limiter {
  if (typeof what === 'string' || Array.isArray(what)) {
    const limits = what as LimitText[]
    return build(RuleSet.compile({ rules: { limit: { scope: 'key', limits } } }), parts)
  }
  if (typeof what !== 'object' || what === null)
    throw new SluiceError(
      'invalid_options',
      `expected a limit such as "10/s" or { rules }; got ${quote(what)}`,
    )
  const { store: _store, clock: _clock, ...document } = what as LimiterOptions<string>
  if (document.rules instanceof RuleSet) {
    const stray = Object.keys(document).find((field) => field !== 'rules')
    if (stray !== undefined)
      throw new SluiceError(
        'invalid_options',
        `${stray} is part of the compiled rules; give it where they are compiled`,
        { field: stray },
      )
    return build(document.rules, what)
  }
  const unknown = Object.keys(document).find((field) => !KNOWN.includes(field))
  if (unknown !== undefined) {
    throw new SluiceError(
      'invalid_options',
      `unknown option ${quote(unknown)}${didYouMean(unknown, KNOWN)}`,
      { field: unknown },
    )
  }
  return build(RuleSet.compile(document as RulesDocument), what)
}

function build(rules: RuleSet, { store, clock }: Parts): Limiter {
  if (clock !== undefined && typeof clock !== 'function')
    throw new SluiceError('invalid_options', `clock is ${quote(clock)}; expected a function`, {
      field: 'clock',
    })
  if (store !== undefined && typeof store?.decide !== 'function')
    throw new SluiceError(
      'invalid_options',
      `store is ${quote(store)}; expected one such as memoryStore()`,
      { field: 'store' },
    )
  return new Limiter(new Decider(rules, store ?? memoryStore(), clock ?? Date.now))
}
