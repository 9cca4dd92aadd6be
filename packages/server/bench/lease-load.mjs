// A load that comes at a steady rate, over limiters with leases that share one Redis; and what it came to,
// beside one strict limiter in memory that saw the same requests at the same times.
import { createLimiter } from '@sluice/limiter'
import { ioredisOptions, redisStore } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'

let prefixes = 0

/** As many instances as are asked for, each with a connection of its own. */
export async function instancesOver(port, rules, count) {
  const prefix = `lease${prefixes++}`
  const all = []
  for (let i = 0; i < count; i++) {
    const client = new Redis(port, '127.0.0.1', { ...ioredisOptions, lazyConnect: true })
    await client.connect()
    const store = redisStore(client, { prefix, leases: true })
    all.push({ client, store, limiter: createLimiter({ rules, store }) })
  }
  return {
    all,
    async close() {
      for (const { limiter, client } of all) {
        await limiter.close()
        client.disconnect()
      }
    },
  }
}

const WARM_MS = 2000

/** `users(n)` names the n-th request's; `limit` is that of each. */
export async function paced(port, { limit, instances, perSecond, seconds, users, burst }) {
  const rules = { r: { scope: 'user', limits: limit } }
  const over = await instancesOver(port, rules, instances)
  const { all } = over
  const strict = createLimiter({ rules })
  const history = []
  const counts = { asked: 0, admitted: 0, ideal: 0, waited: 0, degraded: 0 }
  let callsBefore = 0
  const calls = () => all.reduce((sum, { store }) => sum + store.health.leases.calls, 0)
  const ask = (n) => {
    const request = { subject: { user: users(n) } }
    const sent = performance.now()
    const ideal = strict.checkSync(request).allowed
    const answer = all[n % instances].limiter.decide(request)
    const note = ({ allowed, degraded }) => {
      counts.asked++
      if (ideal) counts.ideal++
      if (degraded) counts.degraded++
      if (!allowed) return
      counts.admitted++
      history.push([sent, performance.now()])
    }
    if (!(answer instanceof Promise)) return note(answer)
    counts.waited++
    return answer.then(note)
  }
  const began = performance.now()
  let isWarm = false
  for (let n = 0; ; ) {
    const elapsed = performance.now() - began
    if (!isWarm && elapsed > WARM_MS) {
      isWarm = true
      callsBefore = calls()
      Object.assign(counts, { asked: 0, waited: 0, degraded: 0 })
    }
    if (elapsed > WARM_MS + 1000 * seconds) break
    // It grows from nothing: code that runs for the first time is slow.
    const warmed = Math.min(elapsed, WARM_MS)
    const due = (((warmed * warmed) / WARM_MS / 2 + elapsed - warmed) / 1000) * perSecond
    for (; n < due; n++) void ask(n)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await new Promise((resolve) => setTimeout(resolve, 300))
  const made = calls() - callsBefore
  await over.close()
  return {
    'calls per 1000': (1000 * made) / counts.asked,
    'asked, k/s': counts.asked / seconds / 1000,
    'over-admitted': burst === undefined ? Number.NaN : overBy(history, burst, perBurst(limit)),
    'under-admitted, %': 100 * Math.max(0, 1 - counts.admitted / counts.ideal),
    'waited, %': (100 * counts.waited) / counts.asked,
    degraded: counts.degraded,
  }
}

/** The rate of `n/s`, a millisecond. */
function perBurst(limit) {
  return Number(/^(\d+)\/s/.exec(limit)[1]) / 1000
}

/**
 * By how many more than the bound any interval admitted: those that were sent from i on and answered by j are
 * at most burst + rate · (answered j − sent i), because each was charged between the two.
 */
function overBy(history, burst, rate) {
  const sorted = history.toSorted((a, b) => a[0] - b[0])
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [n, [sent, answered]] of sorted.entries()) {
    least = Math.min(least, n - rate * sent)
    most = Math.max(most, n + 1 - rate * answered - least)
  }
  return Math.max(0, most - burst)
}
