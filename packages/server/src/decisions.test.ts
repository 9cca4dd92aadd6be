/** What observers of decisions see. */
import { randomBytes } from 'node:crypto'
import { memoryStore, type Request, RuleSet } from '@sluice/limiter'
import { describe, expect, it } from 'vitest'
import { Decisions } from './decisions.js'
import { OnceInMemory } from './receipts/once.js'
import { Vouchers } from './receipts/vouchers.js'
import { Tenants } from './tenants.js'

async function decisionsOf(normalize: { checks?: 'on' }) {
  const tenants = new Tenants(memoryStore())
  const rules = { login: { scope: 'user', resource: '/login', limits: '1/d fixed' as const } }
  await tenants.use(RuleSet.compile({ rules, normalize }))
  const seen: (string | undefined)[] = []
  const decisions = new Decisions({
    tenants,
    vouchers: new Vouchers({ secret: randomBytes(16), once: new OnceInMemory(), now: Date.now }),
    observer: {
      decided: (decision, { resource }) => {
        if (!decision.allowed) seen.push(resource)
      },
      took: () => undefined,
    },
    headerFamilies: [],
    answers: 'full',
  })
  const ask = async (resource: string, more: Partial<Request> = {}) => {
    await decisions.decide(tenants.require('default'), {
      subject: { user: 'ada' },
      resource,
      ...more,
    })
  }
  return { ask, seen }
}

describe('the resource of a denial', () => {
  it('is the normalised one where the request was normalised', async () => {
    const { ask, seen } = await decisionsOf({})
    await ask('/login')
    await ask('/x/../login?a', { normalize: true })
    await ask('/login?a')
    expect(seen).toEqual(['/login', '/login?a'])
  })

  it('is the normalised one of a check where the rules say so', async () => {
    const { ask, seen } = await decisionsOf({ checks: 'on' })
    await ask('/login')
    await ask('//%6cogin/')
    expect(seen).toEqual(['/login'])
  })
})
