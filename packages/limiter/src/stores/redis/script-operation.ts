/** Something that the script is asked about the rows of one slot: how it is written, and how its answer is read. */
import type { StoreFailure } from '../store.js'
import type { RuleLayout } from './rule-layout.js'
import type { ArgumentWriter, ScriptReply } from './script-protocol.js'

/** A script of more would keep Redis for too long: transactions of one bucket rule, or fewer that weigh more. */
export const MOST_IN_A_CALL = 64

export abstract class ScriptOperation {
  readonly slot: number
  /** This instance's time when it was asked. */
  readonly now: number
  /** Milliseconds by the steady clock. */
  readonly deadline: number
  /** It was answered, or has failed. */
  isOver = false
  /** How often it was asked with other calendar bounds. */
  boundsAttempts = 0
  /** Its keys were created, because their slot is on the move. */
  isCreated = false

  constructor(slot: number, now: number, deadline: number) {
    this.slot = slot
    this.now = now
    this.deadline = deadline
  }

  /** The keys of its rows, and how they are laid out. */
  abstract readonly keys: readonly string[]
  abstract readonly layouts: readonly RuleLayout[]
  /** What it costs Redis, from 1 to MOST_IN_A_CALL. */
  abstract readonly weight: number

  abstract write(out: ArgumentWriter): void

  /** Reads its part of the reply, which is next. False: it must be asked again with other calendar bounds. */
  abstract read(reply: ScriptReply): boolean

  fail(failure: StoreFailure): void {
    if (this.isOver) return
    this.isOver = true
    this.failed(failure)
  }

  protected abstract failed(failure: StoreFailure): void

  /** It says that this instance is there. */
  get isBeat(): boolean {
    return false
  }

  /** Whether it may be asked again while its slot is on the move, until its deadline. */
  get canWait(): boolean {
    return true
  }

  /** Its slot is on the move: it is asked for row by row instead, if it can be. */
  askRowByRow(): boolean {
    return false
  }

  /** The layout of its only rule, if it takes one token and asks for nothing else; most do. Else null. */
  get simpleLayout(): RuleLayout | null {
    return null
  }

  /** Whether it asks for the same as another, of another subject. */
  asksTheSame(_other: ScriptOperation): boolean {
    return false
  }

  pushKeys(keys: string[]): void {
    for (const [i, key] of this.keys.entries()) this.pushRow(keys, key, this.layouts[i] ?? null)
  }

  /** The key of a row, and those of what it keeps beside. */
  protected pushRow(keys: string[], key: string, layout: RuleLayout | null): void {
    keys.push(key)
    if (layout === null) return
    const { sideKeys } = layout
    for (let j = 0; j < sideKeys.length; j++) keys.push(`${key}:${sideKeys[j]!}`)
  }
}
