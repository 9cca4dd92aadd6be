/** A change whose outcome the store did not tell is not asked for again; one that was not done may be. */
import assert from 'node:assert/strict'
import type { NotConfirmed, Operation } from '../stores/operation.js'
import type { Store } from '../stores/store.js'
import { ADA, type Chapter, FIVES, type Open, type Trial } from './trial.js'

/** The next change, which must be of this kind only, is carried out, or not, and its answer is lost. */
function loseAnswer(trial: Trial, kind: Operation['kind'], undone: NotConfirmed): void {
  const store: { change: Store['change'] } = trial.store
  const change = store.change.bind(store)
  store.change = async (operations, moment) => {
    store.change = change
    for (const operation of operations) assert.equal(operation.kind, kind)
    if (undone === 'unknown') await change(operations, moment)
    return operations.map(() => undone)
  }
}

const { leaky_bucket: _, ...UNQUEUED } = FIVES

const refunds = Object.values(UNQUEUED).map((limit) => [
  `${limit}: a receipt whose refund may have been done is not used again`,
  async (open: Open) => {
    const trial = open(limit)
    const decision = await trial.take({ ...ADA, cost: 2 })
    await trial.take({ ...ADA, cost: 3 })
    loseAnswer(trial, 'refund', 'unknown')
    for (let i = 0; i < 4; i++) assert.equal(await trial.limiter.refund(decision, 1), null)
    assert.equal(await trial.limiter.changes.refund(decision.receipt!), 'unknown')
    assert.deepEqual(await trial.left(ADA), [1])
  },
])

const charges = Object.values(UNQUEUED).map((limit) => [
  `${limit}: what a settlement may have taken is not taken again`,
  async (open: Open) => {
    const trial = open(limit)
    const call = await trial.limiter.reserve(ADA)
    loseAnswer(trial, 'charge', 'unknown')
    for (let i = 0; i < 4; i++) assert.equal(await call.settle(3), null)
    assert.deepEqual(await trial.left(ADA), [2])
  },
])

export const unknownOutcomes: Chapter = {
  ...Object.fromEntries([...refunds, ...charges]),

  'what was not done may be asked for again': async (open) => {
    const trial = open('5 per 10s fixed')
    const decision = await trial.take({ ...ADA, cost: 2 })
    loseAnswer(trial, 'refund', 'not_done')
    assert.equal(await trial.limiter.changes.refund(decision.receipt!), 'not_done')
    assert.deepEqual(await trial.limiter.refund(decision), { requests: 2 })
    const call = await trial.limiter.reserve(ADA)
    loseAnswer(trial, 'charge', 'not_done')
    assert.equal(await call.settle(3), null)
    assert.deepEqual(await call.settle(3), { givenBack: {}, taken: { requests: 2 } })
    assert.deepEqual(await trial.left(ADA), [2])
  },

  'a grant, a reset and a release say which of the two it was': async (open) => {
    const trial = open(['5 per 10s fixed', '3 concurrent for 10s'])
    const { hold } = await trial.take(ADA)
    for (const undone of ['not_done', 'unknown'] as const) {
      loseAnswer(trial, 'grant', undone)
      assert.equal(await trial.limiter.changes.grant(ADA), undone)
      loseAnswer(trial, 'reset', undone)
      assert.equal(await trial.limiter.changes.reset({ user: 'ada' }), undone)
      loseAnswer(trial, 'release', undone)
      assert.equal(await trial.limiter.changes.release(hold!), undone)
    }
  },
}
