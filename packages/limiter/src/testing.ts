/**
 * @sluice/limiter/testing: everything that a store promises, as tests for those who write one. With
 * vitest, node:test or any other framework:
 *
 *   testStore({ describe, it }, 'my store', (clock) => ({ store: myStore({ clock }) }))
 */
import { allOrNothing } from './testing/all-or-nothing.js'
import { calendars } from './testing/calendars.js'
import { changesOfRules } from './testing/changes-of-rules.js'
import { givingBack } from './testing/giving-back.js'
import { holds } from './testing/holds.js'
import { idempotencyKeys } from './testing/idempotency-keys.js'
import { largeNumbers } from './testing/large-numbers.js'
import { manyAtOnce } from './testing/many-at-once.js'
import { numbersOfAnswers } from './testing/numbers-of-answers.js'
import { reservations } from './testing/reservations.js'
import { shadowRules } from './testing/shadow-rules.js'
import { timeGoingBack } from './testing/time-going-back.js'
import { type Chapter, type MakeStore, tryOut } from './testing/trial.js'
import { unknownOutcomes } from './testing/unknown-outcomes.js'
import { whatIsUsed } from './testing/what-is-used.js'

export type { Clock } from './clock.js'
export type { Store } from './stores/store.js'
export type { MakeStore, StoreUnderTest } from './testing/trial.js'

/** What is needed of a test framework. */
export interface TestFramework {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: (name: string, test: () => Promise<void>) => unknown
}

const CHAPTERS: Readonly<Record<string, Chapter>> = {
  'all or nothing': allOrNothing,
  'the numbers of an answer': numbersOfAnswers,
  'what is used': whatIsUsed,
  'calendar windows': calendars,
  'large and fractional numbers': largeNumbers,
  'many checks at once': manyAtOnce,
  'time going back': timeGoingBack,
  'giving back': givingBack,
  reservations,
  'outcomes that are not known': unknownOutcomes,
  holds,
  'idempotency keys': idempotencyKeys,
  'shadow rules': shadowRules,
  'changes of rules': changesOfRules,
}

/** Defines the tests. Each makes a store of its own, which must be empty and decide by the clock it is given. */
export function testStore(framework: TestFramework, name: string, makeStore: MakeStore): void {
  const { describe, it } = framework
  describe(name, () => {
    for (const [title, chapter] of Object.entries(CHAPTERS))
      describe(title, () => {
        for (const [promise, test] of Object.entries(chapter))
          it(promise, () => tryOut(makeStore, test))
      })
  })
}
