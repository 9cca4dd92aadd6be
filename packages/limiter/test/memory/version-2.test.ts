/**
 * A state that the release before wrote, in version 2, is read. `version-2/state.gz` is a whole state and two
 * changes after it, of a store for 120 keys: rules whose limits changed four times and whose rows were not all
 * asked for in between, a log, holds, refunds, a reset, and keys that had to go. `version-2/answers.json.gz` is
 * what that release said when it read this state itself: what is left, refunds, releases and resets.
 */
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createLimiter, memoryStore, type RulesDocument } from '../../src/index.js'
import { StoreState } from '../../src/state.js'
import { readHold, readReceipt } from '../../src/transport.js'

interface Said {
  readonly request?: { readonly subject: Record<string, string>; readonly resource?: string }
  readonly left?: readonly (readonly [remaining: number, resetAtMs: number])[]
  readonly receipt?: string
  readonly given?: object
  readonly hold?: string
  readonly released?: boolean
  readonly reset?: Record<string, string>
  readonly rows?: number
}

interface Answers {
  readonly now: number
  readonly keys: number
  readonly rules: RulesDocument
  readonly said: readonly Said[]
}

function read(name: string): Buffer {
  return gunzipSync(readFileSync(new URL(`version-2/${name}.gz`, import.meta.url)))
}

const { now, keys, rules, said } = JSON.parse(read('answers.json').toString()) as Answers

function restored() {
  const store = memoryStore()
  new StoreState(store).import([read('state')])
  return store
}

async function expectAnswers(store: ReturnType<typeof memoryStore>) {
  const limiter = createLimiter({ ...rules, rules: rules.rules!, store, clock: () => now })
  for (const { request, left, receipt, given, hold, released, reset, rows } of said) {
    if (request !== undefined) {
      const { limits } = await limiter.peek(request)
      const found = limits.map(({ remaining, resetAtMs }) => [remaining!, resetAtMs] as const)
      // Keys that had to go: the sketches of all layouts of the rule are one now, and say the most of any.
      if (request.resource === '/flood')
        for (const [i, [remaining]] of found.entries())
          expect(remaining).toBeLessThanOrEqual(left![i]![0])
      else expect([request, found]).toEqual([request, left])
    } else if (receipt !== undefined)
      expect(await limiter.refund(readReceipt(receipt, limiter.rules))).toEqual(given)
    else if (hold !== undefined)
      expect(await limiter.release(readHold(hold, limiter.rules))).toBe(released)
    else expect(await limiter.reset(reset!)).toBe(rows)
  }
}

it('a state of version 2 says what it said to the release that wrote it, and no less of keys that had to go', async () => {
  const store = restored()
  // A key that had a row in two layouts has one now.
  expect(store.size.keys).toBeGreaterThan(90)
  expect(store.size.keys).toBeLessThanOrEqual(keys)
  await expectAnswers(store)
})

it('a state of version 2 says the same after it was written anew', async () => {
  const store = memoryStore()
  new StoreState(store).import(new StoreState(restored()).export())
  await expectAnswers(store)
})

it('a state of version 2 is not read if a byte of it was changed, or its end is missing', () => {
  const bytes = read('state')
  for (const at of [3, 100, 5000, bytes.length - 2]) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 1
    expect(() => new StoreState(memoryStore()).import([damaged])).toThrow(/cannot be read/)
  }
  expect(() => new StoreState(memoryStore()).import([bytes.subarray(0, -100)])).toThrow(
    /cannot be read/,
  )
})
