/** A decision under an idempotency key over two slots of a cluster, whose record answers what the test says. */
import { beforeEach, describe, expect, it } from 'vitest'
import { RuleSet } from '../../rules/rule-set.js'
import { Answer } from '../answer.js'
import { IdempotencyConflict, IdempotencyInProgress, StoreFailure } from '../store.js'
import { newTransaction, type Transaction } from '../transaction.js'
import type { ScriptAnswer } from './change-operation.js'
import { ClusterDecider, type RecordChange } from './cluster-decider.js'
import { Addresses, Keys } from './keys.js'
import { Records, recordBody } from './records.js'
import {
  CLAIM,
  CONFIRM,
  LETTER_ALLOWED,
  LETTER_CONFLICT,
  LETTER_IN_PROGRESS,
  LETTER_REPLAYED,
  UNCLAIM,
} from './script-protocol.js'

const NOW = 1_790_000_000_000_000
const DEADLINE_MS = 50
const RULES = RuleSet.compile({
  rules: { u: { scope: 'user', limits: '10/d' }, o: { scope: 'org', limits: '10/d' } },
})
const IDEMPOTENCY = { namespace: 'default', scope: 'org', value: 'acme', id: 'k', fingerprint: 'f' }
const DONE: ScriptAnswer = { letter: LETTER_ALLOWED, numbers: [], record: null }

let records: Records
/** What was asked of the record, and what was given back. */
let asked: RecordChange[]
let givenBack: Answer[]
let said: (change: RecordChange) => ScriptAnswer

beforeEach(() => {
  records = new Records(new Map([['default', RULES]]))
  asked = []
  givenBack = []
  said = () => DONE
})

function transaction(): Transaction {
  return newTransaction([...RULES.all], ['ada', 'acme'], 1, NOW, { idempotency: IDEMPOTENCY })
}

/** `allowed`: what every slot says. */
function decide(allowed = true): Promise<Answer> {
  const answer = async (part: Transaction) => {
    const one = Answer.open(part, NOW, allowed)
    for (let limit = 0; limit < one.size; limit++) one.setNothing(limit, allowed ? 0 : 1, NOW)
    return one
  }
  const decider = new ClusterDecider({
    addresses: new Addresses(new Keys('sluice'), true),
    records,
    deadlineMs: DEADLINE_MS,
    decideInSlot: answer,
    askPart: answer,
    giveBack: (one) => void givenBack.push(one),
    record: async (change) => {
      asked.push(change)
      return said(change)
    },
    isMoving: () => false,
    leftOf: () => 1,
  })
  return decider.decide(transaction())
}

const codes = () => asked.map(({ code }) => code)

/** What Redis keeps of an answer: its end, whose it is, the answer. */
function recordOf(answer: Answer): Buffer {
  return Buffer.concat([Buffer.alloc(8 + 40), recordBody(answer)])
}

describe('a decision under an idempotency key over several slots', () => {
  it('claims the key for two deadlines, and confirms it for five minutes', async () => {
    await decide()
    expect(codes()).toEqual([CLAIM, CONFIRM])
    expect(asked.map(({ texts }) => Number(texts[1]))).toEqual([2 * DEADLINE_MS, 300_000])
    expect(givenBack).toEqual([])
  })

  it('takes nothing where the key is claimed by another request, or was used for one', async () => {
    for (const [letter, refusal] of [
      [LETTER_IN_PROGRESS, IdempotencyInProgress],
      [LETTER_CONFLICT, IdempotencyConflict],
    ] as const) {
      said = () => ({ ...DONE, letter })
      await expect(decide()).rejects.toThrow(refusal)
      expect(codes()).toEqual([CLAIM])
      asked = []
    }
  })

  it('gives up its claim where it is denied', async () => {
    expect((await decide(false)).allowed).toBe(false)
    expect(codes()).toEqual([CLAIM, UNCLAIM])
  })

  it('gives back what it took and gives up its claim where the record was certainly not kept', async () => {
    said = ({ code }) => {
      if (code !== CONFIRM) return DONE
      throw new StoreFailure('store_unreachable', 'not_done')
    }
    await expect(decide()).rejects.toThrow(StoreFailure)
    expect(codes()).toEqual([CLAIM, CONFIRM, UNCLAIM])
    expect(givenBack).toHaveLength(1)
  })

  it('keeps what it took where the record may have been kept, and replays that', async () => {
    let record: Buffer | null = null
    said = ({ code, texts }) => {
      if (code === CONFIRM) {
        record = Buffer.concat([
          Buffer.alloc(8),
          Buffer.from(texts[2] as string),
          texts[3] as Buffer,
        ])
        throw new StoreFailure('store_timeout', 'unknown')
      }
      return { ...DONE, letter: record === null ? LETTER_ALLOWED : LETTER_REPLAYED, record }
    }
    await expect(decide()).rejects.toThrow(StoreFailure)
    expect(codes()).toEqual([CLAIM, CONFIRM])
    expect(givenBack).toEqual([])
    const again = await decide()
    expect(again.isReplay).toBe(true)
    // It is the answer of this instance, so that its receipt gives back.
    expect(again.transaction.isForeign).toBe(false)
  })

  it('answers by the record that it finds when it confirms, and gives back what it took', async () => {
    const first = await decide()
    records = new Records(new Map([['default', RULES]]))
    said = ({ code }) =>
      code === CONFIRM ? { ...DONE, letter: LETTER_REPLAYED, record: recordOf(first) } : DONE
    const second = await decide()
    expect(second.isReplay).toBe(true)
    expect(givenBack).toHaveLength(1)
  })
})
