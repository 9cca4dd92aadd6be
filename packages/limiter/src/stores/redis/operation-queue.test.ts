import { expect, it } from 'vitest'
import type { StoreFailure } from '../store.js'
import { ChangeOperation } from './change-operation.js'
import { OperationQueue } from './operation-queue.js'
import type { Batch, ScriptCalls } from './script-calls.js'
import { CLAIM } from './script-protocol.js'

it('an operation that has no time left when its turn ends is not sent, and certainly not done', () => {
  let now = 0
  const sent: Batch[] = []
  const calls = { run: (batch: Batch) => sent.push(batch) } as unknown as ScriptCalls
  const timers = { now: () => now, deadlineMs: 100, deadline: () => ({ meet() {} }) }
  const queue = new OperationQueue(calls, timers, () => Promise.resolve())
  const failures: StoreFailure[] = []
  const push = (deadline: number) => {
    const change = { code: CLAIM, slot: 0, key: 'k', layout: null, texts: [], items: [] }
    const fail = (failure: StoreFailure) => failures.push(failure)
    const operation = new ChangeOperation(change, { now: 0, deadline }, () => {}, fail)
    queue.push(operation)
    return operation
  }
  push(100)
  const later = push(200)
  now = 150
  queue.flush()
  expect(sent.map(({ operations }) => operations)).toEqual([[later]])
  expect(failures).toMatchObject([{ reason: 'store_timeout', undone: 'not_done' }])
})
