// From ten rules to a hundred thousand: matching costs the length of the path.
import { createLimiter } from '@sluice/limiter'
import { race, randomBelow } from './measure.mjs'

export const title = 'check beside the number of rules'
export const goals = [{ row: '100,000 rules', column: 'known resource, × of 10 rules', most: 1.5 }]
export const cases = [{ row: 'all' }]
export const rows = [10, 1_000, 100_000]

const KEYS = 1_000
let sink = 0

/** Exact paths, paths with parameters, and rules for single values, a third each. */
function limiterOf(count) {
  const rules = {}
  for (let i = 0; i < count; i++) {
    const kind = i % 3
    rules[`rule-${i}`] = {
      scope: kind === 2 ? 'org' : 'user',
      resource: kind === 0 ? `/v1/things-${i}` : kind === 1 ? `/v1/things-${i}/:id/parts/*` : '*',
      ...(kind === 2 ? { value: `org-${i}` } : {}),
      limits: '1000000/s',
    }
  }
  return createLimiter({ rules })
}

/** Three of the rules are asked for, however many there are: the number of counters stays the same. */
export async function run() {
  const contenders = {}
  for (const count of rows) {
    const limiter = limiterOf(count)
    const asked = [0, 3 * Math.floor(count / 9), 3 * Math.floor((2 * count) / 9)]
    const ask = (resource, key) =>
      limiter.checkSync({ subject: { user: key, org: 'org-2' }, resource, method: 'GET' })
    contenders[`known ${count}`] = (texts) => {
      for (let i = 0; i < texts.length; i++)
        sink += ask(`/v1/things-${asked[i % 3]}`, texts[i]).allowed ? 1 : 0
    }
    contenders[`fresh ${count}`] = (texts) => {
      for (let i = 0; i < texts.length; i++) {
        const path = `/v1/things-${asked[i % 3] + 1}/${randomBelow(1e9)}/parts/x`
        sink += ask(path, texts[i]).allowed ? 1 : 0
      }
    }
  }
  const times = await race(contenders, { keys: KEYS, rounds: 16 })
  return rows.map((count) => ({
    row: `${count.toLocaleString('en')} rules`,
    'known resource ns': times[`known ${count}`].best,
    'known resource, × of 10 rules': times[`known ${count}`].best / times['known 10'].best,
    'new resource ns': times[`fresh ${count}`].best,
    'new resource, × of 10 rules': times[`fresh ${count}`].best / times['fresh 10'].best,
  }))
}
