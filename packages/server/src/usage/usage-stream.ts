/**
 * Batches in a Redis stream: one end adds, the other reads with a consumer group. The stream is bounded in
 * number and, about, in bytes: the oldest go first, and what went is told from the numbers of the rest.
 * The key has a hash tag, so that the whole stream has one place in a cluster.
 */
import { noAnswer, within } from '../within.js'
import type { UsageBatch } from './batch.js'
import type { Deliver } from './sender.js'

/** What is needed of ioredis, of its cluster too. */
export interface StreamRedis {
  call(command: string, ...args: (string | number)[]): Promise<unknown>
}

export interface StreamOptions {
  /** What every key starts with. */
  readonly prefix: string
  /** 10,000 unless given. */
  readonly mostBatches?: number
  /** 128 MB unless given. */
  readonly mostBytes?: number
  readonly deadlineMs?: number
}

const MOST_BATCHES = 10_000
const MOST_BYTES = 128 * 1024 * 1024
const DEADLINE_MS = 2000
export const FIELD = 'batch'

export function streamKey(prefix: string): string {
  return `${prefix}:{usage}`
}

export function addToStream(redis: StreamRedis, options: StreamOptions): Deliver {
  const { mostBatches = MOST_BATCHES, mostBytes = MOST_BYTES, deadlineMs = DEADLINE_MS } = options
  const key = streamKey(options.prefix)
  return async (batch) => {
    const text = JSON.stringify(batch)
    const most = Math.max(1, Math.min(mostBatches, Math.floor(mostBytes / text.length)))
    await within(deadlineMs, redis.call('XADD', key, 'MAXLEN', most, '*', FIELD, text), noAnswer)
  }
}

/** Null where it is none: of another version, or not ours at all. */
export function readBatch(text: string): UsageBatch | null {
  try {
    const batch = JSON.parse(text) as UsageBatch
    const { instance, sequence, total, dropped, decisions, from, to, rules, violations } = batch
    const numbers = [sequence, total, dropped, decisions, from, to]
    const isWhole = numbers.every((number) => Number.isSafeInteger(Math.floor(number)))
    const hasLists = Array.isArray(rules) && Array.isArray(violations)
    return typeof instance === 'string' && isWhole && hasLists ? batch : null
  } catch {
    return null
  }
}
