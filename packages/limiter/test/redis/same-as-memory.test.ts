/** The memory store and the Redis store give the same answers to the same sequence. */
import * as fc from 'fast-check'
import type { Cluster as ClusterClient, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { FOUND } from './found-histories.js'
import { connected, connectedToCluster } from './over-redis.js'
import { type Ask, type History, histories, type Step } from './random-history.js'
import { type Cluster, RedisServer, startCluster } from './servers.js'
import { Twins } from './twins.js'

/** Long enough for a failure to be made small. */
const PATIENCE_MS = 240_000

/** The same histories in every run; another number plays others. */
const SEED = Number(process.env['SLUICE_TEST_SEED'] ?? 20_261_115)

async function hold(
  histories: fc.Arbitrary<History>,
  numRuns: number,
  live: (history: History) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(histories, live), { numRuns, seed: SEED })
}

describe('a limiter over Redis', () => {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await RedisServer.start()
    client = await connected(server, { socketTimeout: 30_000 })
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })

  it.each(Object.entries(FOUND))('answers as one over memory does: %s', (_, history) =>
    Twins.live(history, client),
  )

  it(
    'answers as one over memory does, whatever it is asked',
    () => hold(histories(0), 900, (history) => Twins.live(history, client)),
    PATIENCE_MS,
  )

  it(
    'answers as one over memory does, however the rules change',
    () => hold(histories(8), 900, (history) => Twins.live(history, client)),
    PATIENCE_MS,
  )

  it(
    'answers as one over memory does, if three take turns',
    () => hold(histories(4), 600, (history) => Twins.live(history, client, { instances: 3 })),
    PATIENCE_MS,
  )
})

describe('a limiter over a cluster', () => {
  let cluster: Cluster
  let client: ClusterClient
  beforeAll(async () => {
    cluster = await startCluster()
    client = await connectedToCluster(cluster)
  })
  afterAll(async () => {
    client.disconnect()
    await cluster.stop()
  })

  /**
   * A request that is denied in one slot was taken from in the others and given back. That shows where
   * the clock steps back, in what older receipts give, and in holds that are asked for again: none of
   * that is done. And requests of one turn see each other on their way.
   */
  function oneByOne({ rules, start, steps }: History): History {
    const holds = rules.some(({ limits }) =>
      limits.some(({ algorithm }) => algorithm === 'concurrency'),
    )
    let holdsAsked = 0
    const withOwnHold = (ask: Ask): Ask => (holds ? { ...ask, holdId: `own-${holdsAsked++}` } : ask)
    return {
      rules: rules.map((rule) => ({ ...rule, pro: null })),
      start,
      steps: steps.flatMap((step): Step[] => {
        if (step.does === 'check many')
          return step.asks.map((ask) => ({ does: 'check', ask: withOwnHold(ask) }))
        if (step.does === 'check' || step.does === 'reserve')
          return [{ ...step, ask: withOwnHold(step.ask) }]
        if (step.does === 'ask again') return holds ? [] : [step]
        return ['step back', 'refund', 'settle'].includes(step.does) ? [] : [step]
      }),
    }
  }

  it(
    'answers as one over memory does, with rows in several slots',
    () => hold(histories(0).map(oneByOne), 400, (history) => Twins.live(history, client)),
    PATIENCE_MS,
  )
})
