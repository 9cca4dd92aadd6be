// Measuring: contenders take turns on the same fresh keys in one process, the best of many rounds counts.
import { PerformanceObserver, performance } from 'node:perf_hooks'

const BATCH = 50_000

/** A text as a parser would make it: never seen before, so nothing about it is known yet. */
const bytes = Buffer.alloc(12)
bytes.write('user-')
export function freshKey(n) {
  for (let i = 11, rest = n; i >= 5; i--, rest = (rest / 10) | 0) bytes[i] = 48 + (rest % 10)
  return bytes.latin1Slice(0, 12)
}

let random = 12_345
export function randomBelow(n) {
  random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
  return random % n
}

/** The keys are the benchmark's own: they are made old, so that no contender pays for moving them. */
function settleGarbage() {
  for (let i = 0; i < 2; i++) globalThis.gc?.({ type: 'minor' })
}

/** contenders: name → (key) => void, or async. Nanoseconds per call, best and median of `rounds`. */
export async function race(contenders, { keys, rounds = 24, batch = BATCH }) {
  const times = new Map(Object.keys(contenders).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const texts = []
      for (let i = 0; i < batch; i++) texts.push(freshKey(randomBelow(keys)))
      settleGarbage()
      const started = performance.now()
      await run(texts)
      const ns = ((performance.now() - started) * 1e6) / batch
      if (round >= rounds / 4) times.get(name).push(ns)
    }
  }
  return Object.fromEntries(
    [...times].map(([name, all]) => {
      all.sort((a, b) => a - b)
      return [name, { best: all[0], median: all[Math.floor(all.length / 2)] }]
    }),
  )
}

/** The longest garbage collection while `work` runs, in milliseconds. */
export async function longestPause(work) {
  let longest = 0
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration)
  })
  observer.observe({ entryTypes: ['gc'] })
  await work()
  await new Promise((resolve) => setTimeout(resolve, 50))
  observer.disconnect()
  return longest
}

export const LIMITS = {
  divides: [
    '1000000/s',
    '1000000/min burst 2000000',
    '1000000 per 10s',
    '1000000 per 20s',
    '1000000 per 40s',
  ],
  'does not': [
    '999983/s',
    '999979/min burst 2000000',
    '999961 per 10s',
    '999959 per 20s',
    '999953 per 40s',
  ],
}
