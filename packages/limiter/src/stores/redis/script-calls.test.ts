import { describe, expect, it } from 'vitest'
import type { NotConfirmed } from '../operation.js'
import { StoreFailure } from '../store.js'
import { isMoving } from './script-calls.js'

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
