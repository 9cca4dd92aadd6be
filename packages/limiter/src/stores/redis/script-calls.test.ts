import { describe, expect, it } from 'vitest'
import { Deadlines } from '../deadlines.js'
import type { NotConfirmed } from '../operation.js'
import { StoreFailure } from '../store.js'
import { ChangeOperation } from './change-operation.js'
import type { RedisPort, Reply } from './redis-client.js'
import { isMoving, ScriptCalls } from './script-calls.js'
import { CLAIM } from './script-protocol.js'
import { StoreClock } from './store-clock.js'

describe('a slot is on the move, and nothing was done,', () => {
  const tryAgain = 'TRYAGAIN Multiple keys request during rehashing of slot'
  it.each<[string, NotConfirmed, boolean]>([
    [tryAgain, 'not_done', true],
    [`Too many Cluster redirections. Last error: ReplyError: ${tryAgain}`, 'not_done', true],
    // The last of several attempts was sent, and its connection closed: it may have run.
    ['Too many Cluster redirections. Last error: Error: Connection is closed.', 'unknown', false],
    ['READONLY You can’t write against a read only replica.', 'not_done', false],
  ])('after "%s", %s: %s', (message, undone, expected) => {
    const failure = new StoreFailure('store_refused', undone, new Error(message))
    expect(isMoving(failure)).toBe(expected)
  })
})

/** Every attempt fails; a call is answered with how often it was sent, and what is said of its outcome. */
async function sentTimes(problem: Error | null, deadlineMs: number) {
  let times = 0
  const port: RedisPort = {
    isCluster: false,
    run: () => {
      times++
      return problem === null ? new Promise<Reply>(() => {}) : Promise.reject(problem)
    },
    nodeOf: () => '',
    nodes: () => [''],
    onReconnect: () => () => {},
    findOwners: () => {},
  }
  const timers = new Deadlines()
  const calls = new ScriptCalls({ port, timers, clock: new StoreClock(() => 1) })
  const change = { code: CLAIM, slot: 0, key: 'k', layout: null, items: [] }
  const texts = ['owner', '1', 'fingerprint', '']
  const askedAt = timers.now()
  const moment = { now: 1, deadline: askedAt + deadlineMs }
  const outcome = await new Promise<NotConfirmed>((failed) => {
    const operation = new ChangeOperation(
      { ...change, texts },
      moment,
      () => {},
      () => {},
    )
    calls.run(
      { operations: [operation], askedAt },
      { failed: (_, { undone }) => failed(undone), again: () => {} },
    )
  })
  return [times, outcome]
}

describe('a call is sent', () => {
  it.each<[string, number, NotConfirmed]>([
    ['connect ECONNREFUSED 127.0.0.1:6379', 2, 'not_done'],
    ['READONLY You can’t write against a read only replica.', 2, 'not_done'],
    ['LOADING Redis is loading the dataset in memory', 2, 'not_done'],
    ['CLUSTERDOWN Hash slot not served', 2, 'not_done'],
    ['NOSCRIPT No matching script.', 2, 'unknown'],
    // It would be refused again.
    ['MISCONF Redis is configured to save RDB snapshots.', 1, 'not_done'],
    // The connection was there, so the script may have run.
    ['Connection is closed.', 1, 'unknown'],
    ['read ECONNRESET', 1, 'unknown'],
    ['ERR something else', 1, 'unknown'],
  ])('after "%s" %i times, and its outcome is %s', async (message, times, undone) => {
    expect(await sentTimes(new Error(message), 5000)).toEqual([times, undone])
  })

  it('once where it is not answered by its deadline', async () => {
    expect(await sentTimes(null, 5)).toEqual([1, 'unknown'])
  })
})
