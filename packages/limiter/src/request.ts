/** A request to be decided, and how it is checked: whatever is wrong is refused before anything is counted. */
import { badRequest } from './errors.js'
import { didYouMean, list, quote } from './faults.js'
import type { Asked } from './rules/asked.js'
import type { CompiledRule } from './rules/compiled-rule.js'
import { type IpAddress, isPlainIpv4, maskWords, parseIp, printIp } from './rules/ip-address.js'
import { normalizeResource } from './rules/normalize.js'
import { LONGEST_RESOURCE, withoutQuery } from './rules/pattern.js'
import type { Plan } from './rules/plan.js'
import type { RuleSet } from './rules/rule-set.js'
import { hasControlCharacters, METHOD, TIER, UNIT, valueFault } from './rules/words.js'

/** Who asks: a value for each scope. An undefined one is absent; `global` is always present by itself. */
export type Subject<Scope extends string = string> = {
  readonly [S in Exclude<Scope, 'global'>]?: string | undefined
}

export interface Request<Scope extends string = string> {
  readonly subject?: Subject<Scope>
  /** The endpoint or thing asked for; a query is not looked at. */
  readonly resource?: string
  /** Whether the resource is normalised before it is compared; as the rules say (`normalize`) unless given. */
  readonly normalize?: boolean
  readonly method?: string
  /** Requests to be charged, 1 to 100,000; 1 unless given here or by the rules' costs. */
  readonly cost?: number
  /** Costs by unit, up to 1e9 each; `requests` is `cost`. */
  readonly costs?: Readonly<Record<string, number>>
  /** Wins over the tier that the rules assign. */
  readonly tier?: string
  /** Decides without taking. */
  readonly dryRun?: boolean
  /** The same key and request within 5 minutes: the first allowed answer again, counted once. */
  readonly idempotencyKey?: string
  /** An id of your own for the hold that concurrency limits take. */
  readonly holdId?: string
  readonly signal?: AbortSignal
}

/** A field that is missing here does not compile; one that is not read is refused (`refuseOthers`). */
const KNOWN: Readonly<Record<keyof Request, true>> = {
  subject: true,
  resource: true,
  normalize: true,
  method: true,
  cost: true,
  costs: true,
  tier: true,
  dryRun: true,
  idempotencyKey: true,
  holdId: true,
  signal: true,
}
export const REQUEST_NAMES = Object.keys(KNOWN) as (keyof Request)[]
export const MOST_SCOPES = 32
export const MOST_UNITS = 16
export const MOST_COST = 100_000
export const MOST_UNIT_COST = 1_000_000_000
/** Of an idempotency key, and of a caller's own id of a hold. */
export const LONGEST_KEY = 255

/** A checked request. One is used again and again: nothing keeps it. */
export class CheckedRequest implements Asked {
  count = 0
  readonly scopes: string[] = []
  readonly values: string[] = []
  readonly counted: string[] = []
  address: IpAddress | null = null
  plan!: Plan
  bits = 0
  isPlain = true
  tieredScope = ''
  named: readonly CompiledRule[] | null = null
  /** As it is compared: without its query, and normalised or not. */
  resource = ''
  isNormalized = false
  /** Upper case; empty if the request names none. */
  method = ''
  tier: string | null = null
  /** `costs.requests`, or `cost`; 0 where the request gives none. */
  cost = 0
  costs: Readonly<Record<string, number>> | null = null

  /** Throws naming the field. `scopes`: the names that are known. */
  read(request: Request, rules: RuleSet, scopes: ReadonlySet<string>): void {
    requireRequest(request)
    const { subject, resource, normalize, method, tier, dryRun } = request
    const { idempotencyKey, holdId, cost, costs, signal } = request
    let read = 0
    if (subject !== undefined) read++
    if (resource !== undefined) read++
    this.isNormalized = rules.normalizesChecks
    if (normalize !== undefined) {
      read++
      if (typeof normalize !== 'boolean')
        throw badRequest('normalize', `is ${quote(normalize)}; expected true or false`)
      this.isNormalized = normalize
    }
    this.method = ''
    if (method !== undefined) {
      read++
      this.method = readMethod(method)
    }
    this.tier = null
    if (tier !== undefined) {
      read++
      this.tier = matching('tier', tier, TIER, "a tier's name")
    }
    if (dryRun !== undefined) {
      read++
      if (typeof dryRun !== 'boolean')
        throw badRequest('dryRun', `is ${quote(dryRun)}; expected true or false`)
    }
    if (idempotencyKey !== undefined) {
      read++
      shortText('idempotencyKey', idempotencyKey)
    }
    if (holdId !== undefined) {
      read++
      shortText('holdId', holdId)
    }
    this.cost = 0
    this.costs = null
    if (cost !== undefined) {
      read++
      this.cost = wholeNumber('cost', cost, 1, MOST_COST)
    }
    if (costs !== undefined) {
      read++
      this.#readCosts(cost, costs)
    }
    if (signal !== undefined) {
      read++
      if (!(signal instanceof AbortSignal))
        throw badRequest('signal', `is ${quote(signal)}; expected an AbortSignal`)
    }
    let stated = 0
    for (const _ in request) stated++
    if (stated > read) refuseOthers(request, read)
    this.#readResource(resource, rules)
    this.#readSubject(subject, rules, scopes)
  }

  #readSubject(subject: Subject | undefined, rules: RuleSet, scopes: ReadonlySet<string>): void {
    const { plan } = this
    this.count = 0
    this.address = null
    this.bits = 0
    this.isPlain = plan.isGlobalPlain
    this.tieredScope = ''
    this.named = null
    if (subject === undefined) return
    if (typeof subject !== 'object' || subject === null || Array.isArray(subject))
      throw badRequest(
        'subject',
        `is ${quote(subject)}; expected an object such as { user: "ada" }`,
      )
    for (const scope in subject) {
      const value: unknown = subject[scope]
      if (value === undefined) continue
      const scopePlan = plan.scopes.get(scope)
      if (scopePlan !== undefined) {
        this.bits |= scopePlan.bit
        if (!scopePlan.isPlain) this.isPlain = false
        else if (scopePlan.usesTiers) {
          if (this.tieredScope !== '') this.isPlain = false
          this.tieredScope = scope
        }
      } else if (!scopes.has(scope)) throw unknownScope(scope, scopes)
      if (scope === 'global')
        throw badRequest('subject.global', 'is always present and has no value')
      if (typeof value !== 'string')
        throw badRequest(`subject.${scope}`, `is ${quote(value)}; expected a text`)
      const fault = valueFault(value)
      if (fault !== undefined) throw badRequest(`subject.${scope}`, fault)
      if (this.count >= MOST_SCOPES)
        throw badRequest('subject', `has more than ${MOST_SCOPES} scopes`)
      const i = this.count++
      this.scopes[i] = scope
      if (scope === 'ip') this.#readAddress(i, value, rules)
      else {
        this.values[i] = value
        this.counted[i] = value
      }
      if (scopePlan !== undefined && scopePlan.particular.length > 0 && this.isPlain) {
        const named = scopePlan.named(this.values[i]!, scope === 'ip' ? this.address : null)
        if (named === 'several' || (named !== null && this.named !== null)) this.isPlain = false
        else if (named !== null) this.named = named
      }
    }
    if (this.named !== null && this.tieredScope !== '') this.isPlain = false
    if (this.count === 0) requirePlain(subject)
  }

  /** A dotted quad is what it is; anything else is brought into its one form, IPv6 to its network. */
  #readAddress(i: number, value: string, rules: RuleSet): void {
    this.values[i] = value
    this.counted[i] = value
    if (!rules.usesCidrs && isPlainIpv4(value)) return
    const address = parseIp(value)
    if (address === undefined)
      throw badRequest('subject.ip', `is ${quote(value)}; expected an IPv4 or IPv6 address`)
    this.address = address
    if (address.version === 6) {
      this.values[i] = printIp(address)
      this.counted[i] = printIp({ version: 6, words: maskWords(address.words, rules.ipv6Prefix) })
    } else if (!isPlainIpv4(value)) {
      this.values[i] = printIp(address)
      this.counted[i] = this.values[i]!
    }
  }

  /** A resource that has a plan already was found good when that was made. */
  #readResource(resource: unknown, rules: RuleSet): void {
    if (resource === undefined) this.resource = ''
    else if (typeof resource === 'string') this.resource = resource
    else throw badRequest('resource', `is ${quote(resource)}; expected a text`)
    if (this.isNormalized) return this.#normalizeResource(rules)
    const known = rules.written.knownPlan(this.resource, this.method)
    if (known !== undefined) {
      this.plan = known
      return
    }
    refuseResource(this.resource)
    this.resource = withoutQuery(this.resource)
    this.plan = rules.written.plan(this.resource, this.method)
  }

  /** The length of the query does not matter: a gateway passes on whatever came. */
  #normalizeResource(rules: RuleSet): void {
    const resource = withoutQuery(this.resource)
    refuseResource(resource)
    this.resource = normalizeResource(resource, rules.normalize)
    this.plan = rules.normalized.plan(this.resource, this.method)
  }

  #readCosts(cost: number | undefined, costs: Readonly<Record<string, number>>): void {
    readUnits(costs, 1)
    if (Object.hasOwn(costs, 'requests')) {
      if (cost !== undefined && cost !== costs['requests'])
        throw badRequest(
          'costs.requests',
          `is ${costs['requests']}, and cost is ${cost}; give one of them`,
        )
      this.cost = costs['requests']!
    }
    this.costs = costs
  }
}

function refuseResource(resource: string): void {
  if (resource.length > LONGEST_RESOURCE)
    throw badRequest('resource', `is longer than ${LONGEST_RESOURCE} characters`)
  if (hasControlCharacters(resource)) throw badRequest('resource', 'holds control characters')
}

export function requireRequest(request: unknown): void {
  if (typeof request !== 'object' || request === null || Array.isArray(request))
    throw badRequest('request', `is ${quote(request)}; expected an object`)
}

/** A Map or the like has no fields: it would be nobody. */
function requirePlain(subject: object): void {
  const prototype: unknown = Object.getPrototypeOf(subject)
  if (prototype === null || prototype === Object.prototype) return
  throw badRequest('subject', 'has no fields; expected an object such as { user: "ada" }')
}

/** Fields that were not read: undefined ones are as if they were not there, no other may be ignored. */
function refuseOthers(request: Request, read: number): void {
  let stated = 0
  for (const field in request) {
    if (!Object.hasOwn(KNOWN, field))
      throw badRequest(field.slice(0, 64), `is unknown${didYouMean(field, REQUEST_NAMES)}`)
    if (request[field as keyof Request] !== undefined) stated++
  }
  if (stated > read) throw new Error('a known field of the request is not read')
}

/** The same costs by unit, once they are found good. */
export function readUnits(given: unknown, least: number): Readonly<Record<string, number>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw badRequest('costs', `is ${quote(given)}; expected an object such as { tokens: 1500 }`)
  const costs = given as Readonly<Record<string, number>>
  const units = Object.keys(costs)
  if (units.length > MOST_UNITS) throw badRequest('costs', `has more than ${MOST_UNITS} units`)
  for (const unit of units) {
    if (!UNIT.test(unit))
      throw badRequest('costs', `has ${quote(unit)}, which is not a unit's name`)
    wholeNumber(`costs.${unit}`, costs[unit], least, MOST_UNIT_COST)
  }
  return costs
}

export function wholeNumber(field: string, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most)
    return value
  throw badRequest(field, `is ${quote(value)}; expected a whole number from ${least} to ${most}`)
}

export function shortText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw badRequest(field, `is ${quote(value)}; expected a text`)
  const fault =
    valueFault(value) ??
    (value.length > LONGEST_KEY ? `is longer than ${LONGEST_KEY} characters` : undefined)
  if (fault !== undefined) throw badRequest(field, fault)
  return value
}

function matching(field: string, value: unknown, pattern: RegExp, what: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw badRequest(field, `is ${quote(value)}; expected ${what}`)
}

/** Most methods come in upper case and are known: those need no work. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function readMethod(method: unknown): string {
  if (METHODS.has(method as string)) return method as string
  return matching('method', method, METHOD, 'a method such as GET').toUpperCase()
}

function unknownScope(scope: string, scopes: ReadonlySet<string>): Error {
  const known = [...scopes].filter((name) => name !== 'global')
  return badRequest(
    `subject.${scope.slice(0, 64)}`,
    `is not a scope of the rules; expected ${list(known.slice(0, 20))}${didYouMean(scope, known)}`,
  )
}
