/**
 * The use of a sharded limit beyond `limit - remaining`. It is not 0 if one shard is in debt while others
 * have tokens left, or if each shard has less left than the denied cost. Both are rare, so the number is
 * kept beside the verdicts, by the position of the limit's verdict.
 */
import { VERDICT_WIDTH } from '../algorithms/verdict.js'
import type { Verdicts } from './store.js'

const surpluses = new WeakMap<Verdicts, Map<number, number>>()

/** May be negative. */
export function noteSurplus(verdicts: Verdicts, at: number, surplus: number): void {
  let known = surpluses.get(verdicts)
  if (known === undefined) {
    if (surplus === 0) return
    known = new Map()
    surpluses.set(verdicts, known)
  }
  known.set(at, surplus)
}

/** 0 where none was noted. */
export function surplusAt(verdicts: Verdicts, at: number): number {
  return surpluses.get(verdicts)?.get(at) ?? 0
}

export function hasSurplus(verdicts: Verdicts): boolean {
  return surpluses.has(verdicts)
}

/** For so many limits whose verdicts were copied. */
export function copySurplus(
  from: Verdicts,
  fromAt: number,
  to: Verdicts,
  toAt: number,
  limits: number,
): void {
  const known = surpluses.get(from)
  if (known === undefined) return
  for (let at = 0; at < limits * VERDICT_WIDTH; at += VERDICT_WIDTH)
    noteSurplus(to, toAt + at, known.get(fromAt + at) ?? 0)
}
