/**
 * A full store whose changes are exported, and a store restored from them that has room for all keys. What
 * the restored one says of a key is at least what the key has used, and at most what the full one says: of
 * a key that had to go the full one knows only its sketch.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  type Decision,
  type LimitText,
  type MemoryStore,
  memoryStore,
} from '../../src/index.js'
import { StoreState } from '../../src/state.js'

const START = 1_780_000_020_000
const USERS = 40

const step = fc.record({
  act: fc.constantFrom(
    ...(['check', 'check', 'check', 'check', 'flood', 'reset', 'export', 'compact'] as const),
    'rules',
  ),
  user: fc.nat(USERS - 1),
  cost: fc.integer({ min: 1, max: 4 }),
  pull: fc.nat(4),
  moveMs: fc.oneof(fc.nat(20), fc.nat(20_000), fc.constant(0)),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

type Rules = Readonly<Record<'r', { readonly scope: 'user'; readonly limits: LimitText[] }>>

class Full {
  now = START
  rules: Rules
  readonly #layouts: readonly Rules[]
  readonly store = memoryStore({ maxKeys: 12 })
  readonly #limiter
  readonly #unbounded
  #running: Iterator<Uint8Array> | null = null
  #written: Uint8Array[] = []
  /** A whole state and the changes after it, whose ends were read. */
  #whole: Uint8Array[] = []
  #isBegun = false

  constructor(limits: readonly LimitText[][]) {
    this.#layouts = limits.map((of) => ({ r: { scope: 'user', limits: of } }))
    this.rules = this.#layouts[0]!
    this.#limiter = this.#limiterOver(this.store)
    this.#unbounded = this.#limiterOver(memoryStore())
  }

  #limiterOver(store: MemoryStore) {
    return createLimiter({ rules: this.rules, store, clock: () => this.now })
  }

  async do({ act, user, cost, pull, moveMs }: Step): Promise<void> {
    this.now += moveMs
    this.#pull(pull)
    if (act === 'check') this.#check(user, cost)
    else if (act === 'flood') for (let i = 0; i < 6; i++) this.#check((user + i) % USERS, 1)
    else if (act === 'reset')
      for (const limiter of [this.#limiter, this.#unbounded])
        await limiter.reset({ user: `u${user}` })
    else if (act === 'export') this.#export()
    else if (act === 'rules') this.#change(user)
    else this.store.compact(this.now)
  }

  #change(pick: number): void {
    this.rules = this.#layouts[pick % this.#layouts.length]!
    for (const limiter of [this.#limiter, this.#unbounded]) limiter.setRules({ rules: this.rules })
  }

  /** What the full store lets pass is taken from the other one too. */
  #check(user: number, cost: number): void {
    const request = { subject: { user: `u${user}` }, cost }
    const { allowed } = this.#limiter.checkSync(request)
    // Also what is denied shows both the rules in force: a limit that none was asked about is not gone.
    const other = this.#unbounded.checkSync({ ...request, dryRun: !allowed })
    if (allowed) expect(other.allowed).toBe(true)
  }

  #export(): void {
    if (this.#running !== null) return
    if (!this.#isBegun || !new StoreState(this.store).canExportChanges) {
      this.#whole = []
      this.#isBegun = true
      this.#running = new StoreState(this.store).export()
    } else this.#running = new StoreState(this.store).exportChanges()
  }

  #pull(pieces: number): void {
    try {
      for (let i = 0; i < pieces && this.#running !== null; i++) {
        const { done, value } = this.#running.next()
        if (done !== true) this.#written.push(value)
        else this.#end()
      }
    } catch (error) {
      expect(String(error)).toMatch(/a whole state must be exported/)
      this.#written = []
      this.#running = null
      this.#export()
    }
  }

  #end(): void {
    this.#whole.push(...this.#written)
    this.#written = []
    this.#running = null
  }

  async expectRestored(): Promise<void> {
    this.#pull(Number.POSITIVE_INFINITY)
    this.#export()
    this.#pull(Number.POSITIVE_INFINITY)
    const store = memoryStore()
    new StoreState(store).import(this.#whole)
    const restored = this.#limiterOver(store)
    for (let i = 0; i < USERS; i++) {
      const request = { subject: { user: `u${i}` } }
      const most = leftOf(await this.#unbounded.peek(request))
      const found = leftOf(await restored.peek(request))
      const least = leftOf(await this.#limiter.peek(request))
      for (const [j, remaining] of found.entries()) {
        expect(remaining).toBeLessThanOrEqual(most[j]!)
        expect(remaining).toBeGreaterThanOrEqual(least[j]!)
      }
    }
  }
}

function leftOf({ limits }: Decision): number[] {
  return limits.map(({ remaining }) => remaining!)
}

const DAY = '500/d fixed'

describe.each<[LimitText, LimitText[][]]>([
  ['9/min', [['9/min']]],
  ['7/min', [['7/min']]],
  ['9/min fixed', [['9/min fixed']]],
  ['9/min sliding', [['9/min sliding']]],
  ['9/min exact', [['9/min exact']]],
  ['9/min', [['9/min'], ['9/min', DAY], ['700/h', '9/min']]],
  ['7/min', [['7/min'], [DAY, '7/min'], ['7/min', '9/h']]],
  ['9/min fixed', [['9/min fixed'], [DAY, '9/min fixed'], ['9/min', '9/min fixed']]],
  ['9/min sliding', [['9/min sliding'], ['12/min', '9/min sliding'], ['9/min sliding', DAY]]],
  ['9/min exact', [['9/min exact'], [DAY, '9/min exact'], ['12/min', '7/min exact']]],
])('changes of a full store (%s, layouts: %j)', (_limit, layouts) => {
  it('leave out nothing that was used, and bring nothing back that was given back', async () => {
    const runs = Number(process.env['SLUICE_TEST_RUNS'] ?? 150)
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }),
        async (steps) => {
          const full = new Full(layouts)
          for (const one of steps) await full.do(one)
          await full.expectRestored()
        },
      ),
      { numRuns: runs },
    )
  })
})

it('a key that had to go has used as much when slower numbers come, whose rows are laid out otherwise', () => {
  let now = START
  const rules = (limits: LimitText) => ({ r: { scope: 'user', limits } }) as const
  const store = memoryStore({ maxKeys: 40 })
  const limiter = createLimiter({ rules: rules('12/min'), store, clock: () => now })
  const ada = { subject: { user: 'ada' } }
  limiter.checkSync({ ...ada, cost: 12 })
  for (let i = 0; i < 200; i++) limiter.checkSync({ subject: { user: `u${i}` }, cost: 12 })
  limiter.setRules({ rules: rules('6/min') })
  now += 65_000
  expect(limiter.checkSync(ada).allowed).toBe(false)
  now += 60_000
  expect(limiter.checkSync(ada).allowed).toBe(true)
  expect(store.size.evicted).toBeGreaterThan(100)
})
