/**
 * Which rules apply, by looking at every one of them: for each scope present the most specific
 * enforced one and the most specific shadow one, besides all additive ones; the default rule where
 * no rule but a global one is enforced.
 */
import { BlockList, isIPv4 } from 'node:net'
import type { LimitsInput, Request, RulesDocument } from '../../src/index.js'
import { type Draft, NOW_MS } from './documents.js'

export interface Variant {
  readonly name: string
  readonly family: string
  readonly scope: string
  readonly value: string | null
  readonly tier: string | null
  readonly resource: string
  readonly methods: readonly string[] | null
  readonly unit: string
  readonly additive: boolean
  readonly shadow: boolean
  readonly limits: string
}

export interface Answer {
  /** By name: the limits in force. */
  readonly applied: ReadonlyMap<string, string>
  /** By name: by which rule, or null, and a word that the reason holds. */
  readonly setAside: ReadonlyMap<string, { readonly by: string | null; readonly word: string }>
}

/** The documents here have one limit to a rule, in one line. */
function lineOf(limits: LimitsInput): string {
  if (typeof limits === 'string') return limits
  throw new Error('not a line')
}

function variantsOf(draft: Draft): Variant[] {
  const base: Variant = {
    name: draft.name,
    family: draft.name.split('@')[0]!,
    scope: draft.scope,
    value: draft.value ?? null,
    tier: draft.tier ?? null,
    resource: draft.resource ?? '*',
    methods:
      draft.methods === undefined ? null : [draft.methods].flat().map((m) => m.toUpperCase()),
    unit: draft.unit ?? 'requests',
    additive: draft.additive === true,
    shadow: draft.shadow === true,
    limits: lineOf(draft.limits),
  }
  if (draft.enabled === false) return []
  const tiers = Object.entries(draft.tiers ?? {})
  return [
    base,
    ...tiers.map(([tier, limits]) => ({
      ...base,
      tier,
      name: `${base.name}@${tier}`,
      limits: lineOf(limits),
    })),
  ]
}

const SPELLINGS = new Map([
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8::1%eth0', '2001:db8::1'],
])

/** How particular a value is that governs this one: bits of its prefix; -1 if it does not govern it, 0 for any. */
function particularity(scope: string, value: string | null, given: string): number {
  if (value === null) return 0
  if (scope !== 'ip') return value === given ? 1 : -1
  const four = isIPv4(value.split('/')[0]!)
  const [network, bits = four ? '32' : '128'] = value.split('/') as [string, string?]
  if (four !== isIPv4(given)) return -1
  const list = new BlockList()
  list.addSubnet(network, Number(bits), four ? 'ipv4' : 'ipv6')
  return list.check(given, four ? 'ipv4' : 'ipv6') ? Number(bits) + 1 : -1
}

/** For each segment 0 for a literal, 1 for a parameter, 2 for the rest; null if it does not match. */
function ranks(pattern: string, resource: string): number[] | null {
  const given = resource.split('/')
  const wanted = pattern.split('/')
  const found: number[] = []
  for (const [i, segment] of wanted.entries()) {
    if (segment === '*') return given.length > i ? [...found, 2] : null
    if (i >= given.length) return null
    if (segment.startsWith(':') ? given[i] === '' : segment !== given[i]) return null
    found.push(segment.startsWith(':') ? 1 : 0)
  }
  return wanted.length === given.length ? found : null
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const i = a.findIndex((rank, i) => rank !== b[i])
  return i < 0 ? 0 : a[i]! - b[i]!
}

export function whichApply(
  document: RulesDocument & { drafts: readonly Draft[] },
  request: Request,
): Answer {
  const subject = Object.entries({ ...request.subject }).map(
    ([scope, value]) => [scope, SPELLINGS.get(value!) ?? value!] as const,
  )
  const values = new Map<string, string>([...subject, ['global', '']])
  const resource = (request.resource ?? '').split('?')[0]!
  const method = request.method?.toUpperCase() ?? null
  const governsMethod = (methods: readonly string[] | null) =>
    methods === null || method === null || methods.includes(method)

  const tierOf = (scope: string): string | null => {
    if (request.tier !== undefined) return request.tier
    const others = [...values.keys()].sort().filter((other) => other !== scope)
    for (const other of [scope, ...others]) {
      for (const [tier, members] of Object.entries(document.tiers ?? {})) {
        if (members.includes(`${other}:${values.get(other)}`)) return tier
      }
    }
    return null
  }

  const units = new Set(['requests', ...Object.keys(request.costs ?? {})])
  for (const [key, cost] of Object.entries(document.costs ?? {})) {
    const [pattern, methods] = key.split(' ').toReversed() as [string, string?]
    if (ranks(pattern, resource) === null || !governsMethod(methods?.split('|') ?? null)) continue
    for (const unit of typeof cost === 'object' ? Object.keys(cost) : []) units.add(unit)
  }

  const candidates = document.drafts.flatMap(variantsOf).flatMap((variant) => {
    const given = values.get(variant.scope)
    if (given === undefined || !governsMethod(variant.methods)) return []
    const particular = particularity(variant.scope, variant.value, given)
    const specific = ranks(variant.resource, resource)
    return particular < 0 || specific === null ? [] : [{ variant, particular, specific }]
  })
  candidates.sort((a, b) => {
    const [x, y] = [a.variant, b.variant]
    return (
      b.particular - a.particular ||
      compareRanks(a.specific, b.specific) ||
      Number(x.methods === null) - Number(y.methods === null) ||
      Number(x.tier === null) - Number(y.tier === null) ||
      (x.methods?.length ?? 0) - (y.methods?.length ?? 0) ||
      (x.name < y.name ? -1 : 1)
    )
  })

  /** Those who contest with each other: of one scope, enforced or shadow; additive ones only within their family. */
  const winners = new Map<string, Variant>()
  const setAside = new Map<string, { by: string | null; word: string }>()
  for (const { variant } of candidates) {
    const { name, scope, family, additive, shadow, tier, unit } = variant
    const contest = JSON.stringify(additive ? [family] : [scope, shadow])
    const winner = winners.get(contest)
    if (tier !== null && tier !== tierOf(scope))
      setAside.set(name, { by: null, word: `tier ${tier}` })
    else if (!units.has(unit)) setAside.set(name, { by: null, word: `costs.${unit}` })
    else if (winner !== undefined) setAside.set(name, { by: winner.name, word: winner.name })
    else winners.set(contest, variant)
  }

  const applied = [...winners.values()]
  const fallback = document.default_rule
  if (fallback !== undefined && fallback.enabled !== false && values.has(fallback.scope)) {
    const enforced = applied.filter(({ scope, shadow }) => scope !== 'global' && !shadow)
    const variant = { ...variantsOf({ ...fallback, name: 'default' })[0]! }
    if (enforced.length === 0) applied.push(variant)
    else setAside.set('default', { by: '', word: 'no rule but a global one' })
  }
  return {
    applied: new Map(applied.map((variant) => [variant.name, limitsOf(document, variant, values)])),
    setAside,
  }
}

/** The rule's limits, or those of the last override in force. */
function limitsOf(
  document: RulesDocument,
  variant: Variant,
  values: ReadonlyMap<string, string>,
): string {
  const inForce = (document.overrides ?? []).filter(
    ({ scope, value, rule, until }) =>
      scope === variant.scope &&
      value === values.get(scope) &&
      (rule === variant.name || rule === variant.family) &&
      (until === undefined || new Date(until).getTime() > NOW_MS),
  )
  const last = inForce.at(-1)
  return last === undefined ? variant.limits : lineOf(last.limits)
}

/** What a request costs, by unit: as it says, else by the most specific resource, then a stated method, else 1 request. */
export function costsOf(
  document: Pick<RulesDocument, 'costs'>,
  request: Request,
): Record<string, number> {
  const resource = (request.resource ?? '').split('?')[0]!
  const table = Object.entries(document.costs ?? {}).flatMap(([key, cost]) => {
    const [pattern, method] = key.split(' ').toReversed() as [string, string?]
    const specific = ranks(pattern, resource)
    if (specific === null || (method !== undefined && method !== request.method)) return []
    return [{ specific, method, units: typeof cost === 'number' ? { requests: cost } : cost }]
  })
  table.sort(
    (a, b) =>
      compareRanks(a.specific, b.specific) ||
      Number(a.method === undefined) - Number(b.method === undefined),
  )
  const found = Object.assign({ requests: 1 }, ...table.toReversed().map(({ units }) => units))
  if (request.cost !== undefined) found.requests = request.cost
  return { ...found, ...request.costs }
}
