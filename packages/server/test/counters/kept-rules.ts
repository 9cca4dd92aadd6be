/** What the tests of counters on disk count: rules of every kind, and a folder of their own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, type Limiter, type MemoryStore, type RulesDocument } from '@sluice/limiter'
import { onTestFinished } from 'vitest'

export const START = 1_780_000_000_000

export const RULES = {
  rules: {
    many: {
      scope: 'user',
      limits: ['7/min', '100 per 5m sliding', '20/h exact', '50/d fixed', '3 concurrent for 10m'],
    },
    tiered: { scope: 'org', limits: '10/h', tiers: { pro: '50/h' } },
  },
} as const satisfies RulesDocument

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-counters-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, '.sluice')
}

export function limiterOver(
  store: MemoryStore,
  clock: () => number = () => START,
): Limiter<'user' | 'org'> {
  return createLimiter({ ...RULES, store, clock })
}

/** What is left of every limit, for a few subjects: equal where the counters are. */
export async function remainingOf(store: MemoryStore, users = 6): Promise<string> {
  const limiter = limiterOver(store)
  const left: (number | null)[] = []
  for (let i = 0; i < users; i++) {
    const { limits } = await limiter.peek({ subject: { user: `u${i}`, org: `o${i % 3}` } })
    left.push(...limits.map(({ remaining }) => remaining))
  }
  return left.join(' ')
}
