// The service over HTTP, beside an empty node:http server and beside its own ordinary path: the servers on
// one core, wrk on the other, in turns.
import { batches, checks, load } from './http-load.mjs'
import { start } from './http-servers.mjs'

const ROUNDS = 4
const SECONDS = 2

export const title =
  'REST: decisions with three limits, 20,000 keys, beside an empty node:http server'

export const cases = [
  { row: 'check', script: checks(1), connections: 64, decisions: 1 },
  { row: 'check, 8 pipelined', script: checks(8), connections: 64, decisions: 1 },
  { row: 'batch of 10', script: batches(10), connections: 16, decisions: 10 },
  { row: 'batch of 100', script: batches(100), connections: 16, decisions: 100 },
  { row: 'batch of 1000', script: batches(1000), connections: 16, decisions: 1000 },
  { row: 'start and memory', starts: 6 },
]

export const goals = [
  { row: 'check', column: '× empty', least: 1.6 },
  { row: 'check, 8 pipelined', column: '× empty', least: 4 },
  { row: 'batch of 100', column: '× empty', least: 10 },
  { row: 'start and memory', column: 'ms × bare', most: 2 },
  { row: 'start and memory', column: 'MB × bare', most: 2 },
]

export async function run(one) {
  return one.starts === undefined ? compare(one) : starts(one)
}

/** The best round of each counts; the empty server is asked one at a time, as it is meant. */
async function compare({ script, connections, decisions }) {
  const names = ['empty', 'ordinary', 'fast']
  const servers = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await start(name)])),
  )
  const best = { empty: 0, ordinary: 0, fast: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) {
      const asked = name === 'empty' ? checks(1) : script
      const rate = load(servers[name].port, asked, {
        connections: name === 'empty' ? 64 : connections,
        seconds: SECONDS,
      })
      best[name] = Math.max(best[name], rate * (name === 'empty' ? 1 : decisions))
    }
  }
  for (const name of names) await servers[name].stop()
  return {
    'empty, requests/s': best.empty,
    'ordinary, decisions/s': best.ordinary,
    'decisions/s': best.fast,
    '× empty': best.fast / best.empty,
    '× ordinary': best.fast / best.ordinary,
  }
}

async function starts({ starts: times }) {
  const best = { bare: [Infinity, Infinity], fast: [Infinity, Infinity] }
  for (let i = 0; i < times; i++) {
    for (const name of ['bare', 'fast']) {
      const server = await start(name)
      best[name][0] = Math.min(best[name][0], server.startMs)
      best[name][1] = Math.min(best[name][1], server.megabytes)
      await server.stop()
    }
  }
  return {
    'bare net, ms': best.bare[0],
    'Sluice, ms': best.fast[0],
    'ms × bare': best.fast[0] / best.bare[0],
    'bare net, MB': best.bare[1],
    'Sluice, MB': best.fast[1],
    'MB × bare': best.fast[1] / best.bare[1],
  }
}
