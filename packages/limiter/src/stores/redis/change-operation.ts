/** Everything but decisions and leases, for the script: changes of one row, idempotency records, beats. */
import type { CompiledRule } from '../../rules/compiled-rule.js'
import type { LimitOperation, Operation } from '../operation.js'
import { StoreFailure } from '../store.js'
import type { Moment } from '../transaction.js'
import type { Addresses } from './keys.js'
import { RuleLayout } from './rule-layout.js'
import { ScriptOperation } from './script-operation.js'
import {
  type ArgumentWriter,
  BEAT,
  CHARGE,
  GRANT,
  ITEM_WIDTH,
  LETTER_FAILED,
  LETTER_NUMBERS,
  LETTER_REPLAYED,
  RAISE,
  REFUND,
  RELEASE,
  RENEW,
  RESET_ROW,
  type ScriptReply,
} from './script-protocol.js'

const CODES: Readonly<Record<Operation['kind'], number>> = {
  refund: REFUND,
  grant: GRANT,
  charge: CHARGE,
  raise: RAISE,
  reset: RESET_ROW,
  renew: RENEW,
  release: RELEASE,
}

/** What is done with one key. */
export interface Change {
  readonly code: number
  readonly slot: number
  readonly key: string
  readonly layout: RuleLayout | null
  readonly texts: readonly (string | Buffer)[]
  /** Changes of single limits: ITEM_WIDTH numbers each. */
  readonly items: readonly (readonly number[])[]
}

/** What the script says of it: the letter, a number for each item or one for the row, a record. */
export interface ScriptAnswer {
  readonly letter: number
  readonly numbers: readonly number[]
  readonly record: Buffer | null
}

export class ChangeOperation extends ScriptOperation {
  readonly keys: readonly string[]
  readonly layouts: readonly RuleLayout[]
  readonly #change: Change
  readonly #resolve: (said: ScriptAnswer) => void
  readonly #reject: (failure: StoreFailure) => void

  constructor(
    change: Change,
    { now, deadline }: Moment,
    resolve: (said: ScriptAnswer) => void,
    reject: (failure: StoreFailure) => void,
  ) {
    super(change.slot, now, deadline)
    this.keys = [change.key]
    this.layouts = change.layout === null ? [] : [change.layout]
    this.#change = change
    this.#resolve = resolve
    this.#reject = reject
  }

  get weight(): number {
    return 1
  }

  override get isBeat(): boolean {
    return this.#change.code === BEAT
  }

  write(out: ArgumentWriter): void {
    const { code, layout, texts, items } = this.#change
    out.begin(code, 0, items.length, 1 + (ITEM_WIDTH / 2) * items.length)
    if (texts.length > 0) out.texts('one', ...texts)
    out.push(layout === null ? 0 : out.rule(layout), 0)
    for (const item of items) out.push(...item)
  }

  read(reply: ScriptReply): boolean {
    const letter = reply.letter()
    const count = Math.max(1, this.#change.items.length)
    const numbers: number[] = []
    if (reply.letter() === LETTER_NUMBERS) reply.numbers(count, numbers, 0)
    const record = letter === LETTER_REPLAYED ? reply.record() : null
    if (letter === LETTER_FAILED) this.fail(new StoreFailure('store_refused', 'unknown'))
    if (this.isOver) return true
    this.isOver = true
    this.#resolve({ letter, numbers, record })
    return true
  }

  protected failed(failure: StoreFailure): void {
    this.#reject(failure)
  }
}

/** Operations that follow each other and change limits of the same row in the same way go together: no limit sees what became of another. */
export function grouped(operations: readonly Operation[]): Operation[][] {
  const groups: Operation[][] = []
  for (const operation of operations) {
    const group = groups.at(-1)
    if (group !== undefined && goTogether(group[0]!, operation)) group.push(operation)
    else groups.push([operation])
  }
  return groups
}

function goTogether(a: Operation, b: Operation): boolean {
  return (
    'limit' in a && 'limit' in b && a.kind === b.kind && a.rule === b.rule && a.value === b.value
  )
}

/** The change of a row that one or more operations ask for. */
export function changeOf(operations: readonly Operation[], addresses: Addresses): Change {
  const [first] = operations as [Operation]
  const code = CODES[first.kind]
  if (first.kind === 'reset') {
    const { family, value } = first
    const row = { slot: addresses.slotOfRow(family, value), key: addresses.rowKey(family, value) }
    return { code, ...row, layout: RuleLayout.ofFamily(family), texts: [], items: [] }
  }
  const { rule, value } = first
  const { family } = rule
  return {
    code,
    slot: addresses.slotOfRow(family, value),
    key: addresses.rowKey(family, value),
    layout: addresses.layoutOf(rule),
    texts: 'holdId' in first ? [first.holdId] : [],
    items: operations.flatMap((each) => ('limit' in each ? [itemOf(rule, each)] : [])),
  }
}

/** ITEM_WIDTH numbers: see script-protocol.ts. */
function itemOf(rule: CompiledRule, operation: LimitOperation): number[] {
  const place = rule.limits.indexOf(operation.limit) + 1
  if (operation.kind !== 'refund') return [place, operation.amount, 0, 0, 0, 0, 0, 0]
  const { mark, markRest, takenUnder, givenBack, takenAt } = operation.take
  return [place, operation.amount, mark, markRest, takenUnder, givenBack, takenAt, 0]
}
