import { describe, expect, it } from 'vitest'
import { readSettings, SETTINGS, UsageError, variableOf } from './config.js'

const read = (
  flags: Record<string, string | boolean> = {},
  environment: Record<string, string> = {},
  content: unknown = null,
) => readSettings({ flags, environment, file: { name: 'sluice.config.yaml', content } })

describe('settings', () => {
  it('have standards that are safe', () => {
    const settings = read()
    expect(settings).toMatchObject({
      host: '127.0.0.1',
      port: 4290,
      data: '.sluice',
      redisDeadline: 100,
    })
    expect([settings.token, settings.redis, settings.stated.size]).toEqual([
      undefined,
      undefined,
      0,
    ])
  })

  it('come from flags, else variables, else the file', () => {
    const file = { port: 1, host: 'c', 'max-keys': 7 }
    const settings = read({ port: '3' }, { SLUICE_PORT: '2', SLUICE_HOST: 'b' }, file)
    expect([settings.port, settings.host, settings.maxKeys]).toEqual([3, 'b', 7])
    expect([...settings.stated].sort()).toEqual(['host', 'max-keys', 'port'])
  })

  it('know the names that others give them, after their own', () => {
    expect(read({}, { PORT: '5', REDIS_URL: 'redis://a' })).toMatchObject({
      port: 5,
      redis: 'redis://a',
    })
    expect(read({}, { PORT: '5', SLUICE_PORT: '6' }).port).toBe(6)
    expect(read({}, { SLUICE_PORT: '' }).port).toBe(4290)
  })

  it('are all reachable in each of the three ways, but for secrets', () => {
    for (const [name, { kind, ...more }] of Object.entries(SETTINGS)) {
      const text = [
        ['host', 'x'],
        ['headers', 'draft-7'],
        ['auth-headers', 'cost'],
        ['leases', 'on'],
        ['answers', 'full'],
        ['log-level', 'warn'],
        ['document-bytes', '70000'],
        ['document-depth', '9'],
      ].find(([known]) => known === name)?.[1]
      const value = text ?? (kind.placeholder === 'N' ? '500' : 'true')
      const stated = (settings: { stated: ReadonlySet<string> }) => settings.stated.has(name)
      expect([name, stated(read({}, { [variableOf(name)]: value }))]).toEqual([name, true])
      expect([name, stated(read({}, {}, { [name]: value }))]).toEqual([name, true])
      expect([name, stated(read({ [name]: value }))]).toEqual([
        name,
        !('isSecret' in more && more.isSecret),
      ])
    }
  })

  it('say where a wrong one is and what was expected', () => {
    const refusal = (...sources: Parameters<typeof read>) => {
      try {
        read(...sources)
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError)
        return (error as Error).message
      }
      throw new Error('it was accepted')
    }
    expect(refusal({ port: '70000' })).toBe(
      '--port is "70000"; expected a whole number from 0 to 65535',
    )
    expect(refusal({}, { SLUICE_LOG_LEVEL: 'wran' })).toBe(
      'SLUICE_LOG_LEVEL is "wran"; expected debug, info, warn or error; did you mean "warn"?',
    )
    expect(refusal({}, {}, { prot: 1 })).toBe(
      'sluice.config.yaml: unknown setting "prot"; did you mean "port"?',
    )
    expect(refusal({}, {}, { port: { a: 1 } })).toContain('expected a single value')
    expect(refusal({}, {}, [1])).toContain('expected settings by name')
    expect(refusal({ headers: 'draft-6,x' })).toContain('expected x-ratelimit')
    expect(refusal({ 'auth-headers': 'cost,subject' })).toBe(
      '--auth-headers is "cost,subject"; expected cost, tier or idempotency-key',
    )
  })

  it('take lists as lists or with commas', () => {
    expect(read({ headers: 'draft-6, draft-7' }).headers).toEqual(['draft-6', 'draft-7'])
    expect(read({}, {}, { headers: ['x-ratelimit'] }).headers).toEqual(['x-ratelimit'])
    expect(read({ headers: 'none' }).headers).toEqual([])
    expect(read({}).authHeaders).toEqual([])
    expect(read({ 'auth-headers': 'cost,idempotency-key' }).authHeaders).toEqual([
      'cost',
      'idempotency-key',
    ])
    expect(read({}, {}, { 'auth-headers': ['tier'] }).authHeaders).toEqual(['tier'])
    expect(read({}, { SLUICE_AUTH_HEADERS: 'none' }).authHeaders).toEqual([])
  })
})
