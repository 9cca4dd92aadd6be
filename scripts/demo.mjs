// The library at work on a terminal: requests arrive, two limits decide, and each decision explains itself.
import { setTimeout as wait } from 'node:timers/promises'
import { styleText } from 'node:util'
import { createLimiter } from '@sluice/limiter'

const seconds = Number(process.env['SECONDS'] ?? 8)
const color = process.stdout.isTTY && process.env['NO_COLOR'] === undefined
const paint = (style, text) => (color ? styleText(style, text) : text)

const limiter = createLimiter({
  rules: {
    'per-user': { scope: 'user', limits: ['5/s', '20 per 10s sliding'] },
    search: { scope: 'user', resource: 'GET /search', limits: '3 per 10s' },
    uploads: { scope: 'user', resource: '/upload', limits: '2 concurrent for 5s' },
  },
  exemptions: ['user:healthcheck'],
})

console.log(`
Sluice decides, for every request, whether it may pass now, and says when to come back if not.

  per-user  user  *             5/s and 20 per 10s sliding: both must pass
  search    user  GET /search   3 per 10s, replaces per-user there
  uploads   user  /upload       2 at a time

${paint('dim', 'Who      What          Left')}`)

const users = ['ada', 'bob', 'eve', 'healthcheck']
const resources = ['/home', '/home', '/search', '/upload']
const holds = []
const counts = { allowed: 0, denied: 0 }
const end = Date.now() + seconds * 1000

for (let i = 0; Date.now() < end; i++) {
  const user = users[(i * 7) % 11 < 6 ? 2 : i % users.length]
  const resource = resources[(i * 5 + (i >> 2)) % resources.length]
  const decision = await limiter.check({ subject: { user }, resource, method: 'GET' })
  counts[decision.allowed ? 'allowed' : 'denied']++
  const left = decision.limit === null ? '' : bar(decision.remaining, decision.limit)
  const line = `${user.padEnd(11)}  ${resource.padEnd(8)}  ${left.padEnd(12)}  ${String(decision)}`
  console.log(paint(decision.allowed ? 'green' : 'red', line))
  if (decision.hold !== null) holds.push(decision.hold)
  if (holds.length > 1 && i % 6 === 0) await limiter.release(holds.shift())
  await wait(160)
}

const eve = { subject: { user: 'eve' }, resource: '/search', method: 'GET' }
const { applied, setAside } = await limiter.explain(eve)
console.log(`
${counts.allowed} allowed, ${counts.denied} denied. Why eve gets what she gets for GET /search:
  ${applied.map(({ rule, limits, why }) => `${rule} (${limits.join(', ')}): ${why}`).join('\n  ')}
  ${setAside.map(({ rule, by }) => `${rule}: set aside by ${by}`).join('\n  ')}

In your code:
  import { createLimiter } from '@sluice/limiter'
  const limiter = createLimiter({ rules: { hello: { scope: 'user', resource: '/hello', limits: '3 per 10s' } } })
  const decision = await limiter.check({ subject: { user: 'ada' }, resource: '/hello' })
`)

function bar(remaining, limit) {
  const full = Math.round((10 * remaining) / limit)
  return '█'.repeat(full) + '░'.repeat(10 - full)
}
