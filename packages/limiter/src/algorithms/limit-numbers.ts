/**
 * A limit as the arithmetic sees it: its numbers, and what follows from them, computed once.
 * One shape for every algorithm, so that the code that reads it stays monomorphic.
 */

export const BUCKET = 0
export const FIXED_WINDOW = 1
export const SLIDING_COUNTER = 2
export const SLIDING_LOG = 3
export const CONCURRENCY = 4

/** The furthest a bucket's TAT may lie ahead, also in debt: 100 years in microseconds. */
export const HORIZON_US = 3_162_240_000_000_000
/** Logs of larger limits are kept in cells of a 1024th of their window. */
const LOG_EXACT_UP_TO = 10_000

export interface LimitNumbers {
  /** Which arithmetic: BUCKET, FIXED_WINDOW, … */
  readonly kind: number
  readonly amount: number
  /** Microseconds; of a concurrency limit its time-out. */
  readonly window: number
  /** What a full counter holds. */
  readonly burst: number
  /** The largest cost that can ever pass: the burst, or what the smallest shard holds. */
  mostCost: number
  /** One token's time is whole + rest/amount microseconds. */
  readonly whole: number
  readonly rest: number
  /** The burst's time, burstWhole + burstRest/amount microseconds. */
  readonly burstWhole: number
  readonly burstRest: number
  /** A leaky bucket: a yes has a turn, and only the newest take can be given back. */
  readonly queues: boolean
  /** A sliding counter's resolution: `ticks` steps of `tick` microseconds make a window. */
  readonly tick: number
  readonly ticks: number
  /** A log's stamps are rounded up to multiples of this. */
  readonly cell: number
  /** Of a log whose row was ever leased: how far ahead its stamps are, in cells of this; else 0. Set before it is read. */
  lead: number
  /** When these numbers took effect, by the store's clock; 0 if always. */
  since: number
  /** Starts of calendar windows around now, ascending; empty where windows are aligned to the epoch. */
  bounds: number[]
}

/** Of a log that is leased: a two-hundredth of its window. */
export function leadOf(window: number): number {
  return Math.ceil(window / 200)
}

/** n·rest/amount as [whole, remainder], exact for n ≤ 2^38 and amount ≤ 1e9. */
export function partsOf(n: number, rest: number, amount: number, out: number[]): void {
  const product = n * rest
  if (product < 9_007_199_254_740_992) {
    const q = Math.floor(product / amount)
    out[0] = q
    out[1] = product - q * amount
    return
  }
  const high = Math.floor(n / 32768)
  const low = n - high * 32768
  const x = high * rest
  const q1 = Math.floor(x / amount)
  const y = (x - q1 * amount) * 32768 + low * rest
  const q2 = Math.floor(y / amount)
  out[0] = q1 * 32768 + q2
  out[1] = y - q2 * amount
}

export function limitNumbers(
  kind: number,
  amount: number,
  window: number,
  burst: number,
  queues: boolean,
): LimitNumbers {
  const whole = Math.floor(window / amount)
  const rest = window - whole * amount
  const parts = [0, 0]
  if (kind === BUCKET) partsOf(burst, rest, amount, parts)
  const tick = Math.ceil(window / 4_194_304)
  let cell = 1
  if (kind === SLIDING_LOG && amount > LOG_EXACT_UP_TO) cell = Math.ceil(window / 1024)
  return {
    kind,
    amount,
    window,
    burst,
    mostCost: burst,
    whole,
    rest,
    burstWhole: burst * whole + parts[0]!,
    burstRest: parts[1]!,
    queues,
    tick,
    ticks: Math.ceil(window / tick),
    cell,
    lead: 0,
    since: 0,
    bounds: [],
  }
}
