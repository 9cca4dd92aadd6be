// From the answered write of a rule until every data plane decides by it, while all of them are being asked.
import { startFleet, wait } from './fleet.mjs'

const CHANGES = 50
const PLANES = 3
/** Checks a second that each data plane is asked meanwhile, in batches of ten. */
const LOAD = 2000

export const title = `a rule changed ${CHANGES} times, until ${PLANES} data planes under load decide by it`
export const cases = [
  { row: '10 rules', rules: 10 },
  { row: '100,000 rules', rules: 100_000 },
]
export const goals = [{ row: '10 rules', column: 'p99 ms', most: 1000 }]

function documentOf(count) {
  const rules = {}
  for (let i = 0; i < count; i++)
    rules[`rule-${i}`] = {
      scope: 'user',
      resource: `/v1/things/${i}`,
      limits: ['10/s', '1000/h burst 2000'],
    }
  return { rules }
}

/** Asks without end, as evenly as it can. */
function load(plane) {
  const over = new AbortController()
  let asked = 0
  const checks = Array.from({ length: 10 }, (_, i) => ({
    subject: { user: `load-${i}` },
    resource: '/v1/things/1',
  }))
  const run = async () => {
    const started = performance.now()
    while (!over.signal.aborted) {
      await plane.ask('POST', '/v1/check/batch', { checks })
      asked += checks.length
      const ahead = (asked / LOAD) * 1000 - (performance.now() - started)
      if (ahead > 1) await wait(ahead)
    }
  }
  const done = run()
  return {
    end: async () => {
      over.abort()
      await done
      return asked
    },
  }
}

const quantile = (sorted, part) =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]

async function decidesBy(plane, limit) {
  const asked = { subject: { user: 'watcher' }, resource: '/v1/things/0' }
  for (;;) {
    const { body } = await plane.ask('POST', '/v1/quota', asked)
    if (body.limit === limit) return
    await wait(2)
  }
}

export async function run({ rules }) {
  const fleet = await startFleet(PLANES)
  const { control, data } = fleet
  try {
    const applied = performance.now()
    const { status, body } = await control.ask('PUT', '/v1/document', documentOf(rules), {
      'If-Match': '*',
    })
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body).slice(0, 500)}`)
    const answered = performance.now()
    await Promise.all(data.map((plane) => decidesBy(plane, 10)))
    const everywhere = performance.now()
    const page = performance.now()
    const list = await control.ask('GET', '/v1/rules?limit=1000')
    const listed = performance.now()
    if (list.body.items.length !== Math.min(rules, 1000)) throw new Error('the list is not whole')
    const { id } = list.body.items.find(({ name }) => name === 'rule-0') ?? {}
    const loads = data.map(load)
    await wait(1000)
    const took = []
    const writes = []
    let etag = (await control.ask('GET', `/v1/rules/${id}`)).headers['etag']
    for (let i = 0; i < CHANGES; i++) {
      const limit = 20 + i
      const sent = performance.now()
      const patch = { limits: [`${limit}/s`] }
      const changed = await control.ask('PATCH', `/v1/rules/${id}`, patch, { 'If-Match': etag })
      if (changed.status !== 200) throw new Error(JSON.stringify(changed.body))
      etag = changed.headers['etag']
      const start = performance.now()
      writes.push(start - sent)
      await Promise.all(data.map((plane) => decidesBy(plane, limit)))
      took.push(performance.now() - start)
      // Writes are limited to 100 a minute.
      await wait(650)
    }
    const asked = await Promise.all(loads.map((one) => one.end()))
    took.sort((a, b) => a - b)
    writes.sort((a, b) => a - b)
    return {
      'p50 ms': quantile(took, 0.5),
      'p99 ms': quantile(took, 0.99),
      'write p50 ms': quantile(writes, 0.5),
      'applied in s': (answered - applied) / 1000,
      'and everywhere s': (everywhere - answered) / 1000,
      'page of 1000 ms': listed - page,
      'control MB': control.megabytes,
      'data plane MB': Math.max(...data.map((plane) => plane.megabytes)),
      'checks asked': asked.reduce((sum, count) => sum + count, 0),
    }
  } finally {
    await fleet.stop()
  }
}
