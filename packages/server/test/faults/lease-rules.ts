/** The limits that the sidecars of a test are asked under, demand for them, and how far a history kept to them. */
import { type Bucket, bucketExcess, idealUse } from './lease-bounds.js'
import type { Answered, Demand } from './lease-load.js'

export const HOT: Bucket = { perSecond: 1000, burst: 400 }
const SOME: Bucket = { perSecond: 60, burst: 32 }
/** Full again within a pause. */
export const SLOW: Bucket = { perSecond: 150, burst: 400 }
/** Not filled at all within a test: what is lost of it, or twice there, stays so. */
export const DAILY: Bucket = { perSecond: 400 / 86_400, burst: 400 }
/** More than is asked for: much of it is held. */
export const ROOMY: Bucket = { perSecond: 2000, burst: 2000 }
export const WINDOW = { amount: 1000, ms: 1000 }
export const RULES = `rules:
  hot: { scope: user, resource: /hot, limits: ${HOT.perSecond}/s burst ${HOT.burst} }
  some: { scope: user, resource: /some, limits: ${SOME.perSecond}/s burst ${SOME.burst} }
  slow: { scope: user, resource: /slow, limits: ${SLOW.perSecond}/s burst ${SLOW.burst} }
  daily: { scope: user, resource: /daily, limits: ${DAILY.burst}/d, lease: { ahead: 400ms } }
  roomy: { scope: user, resource: /roomy, limits: ${ROOMY.perSecond}/s burst ${ROOMY.burst}, lease: { ahead: 400ms } }
  window: { scope: user, resource: /window, limits: ${WINDOW.amount}/s fixed }
`

/** A hot row and some others, at this multiple of their limits. */
export function around(user: string, load: number): Demand[] {
  const others = ['a', 'b', 'c'].map((other) => `${user}-${other}`)
  return [
    { resource: '/hot', user, perSecond: load * HOT.perSecond },
    ...others.map((other) => ({
      resource: '/some',
      user: other,
      perSecond: load * SOME.perSecond,
    })),
  ]
}

export const LIMITS: Readonly<Record<string, Bucket>> = {
  '/hot': HOT,
  '/some': SOME,
  '/slow': SLOW,
  '/daily': DAILY,
  '/roomy': ROOMY,
}

export const rowOf = ({ resource, user }: Answered) => `${resource} ${user}`

/** By row, how much more than it may it let through at worst; a row that kept its bound is not named. */
export function overBound(answers: readonly Answered[]): Record<string, number> {
  const admitted = answers.filter(({ allowed }) => allowed)
  const rows = new Map<string, Answered[]>()
  for (const answer of admitted) {
    const row = rowOf(answer)
    if (rows.has(row)) rows.get(row)!.push(answer)
    else rows.set(row, [answer])
  }
  const worst = [...rows].map(([row, own]): [string, number] => [
    row,
    bucketExcess(own, LIMITS[own[0]!.resource]!),
  ])
  return Object.fromEntries(worst.filter(([, excess]) => excess > 0))
}

/** Of what one strict limiter would have let through of the same requests; `lost`: what may have been lost. */
export function use(answers: readonly Answered[], resource: string, lost = 0): number {
  const own = answers.filter((answer) => answer.resource === resource)
  const admitted = own.filter(({ allowed }) => allowed).length
  return (admitted + lost) / idealUse(own, LIMITS[resource]!)
}
