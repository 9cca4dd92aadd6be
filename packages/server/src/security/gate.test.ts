import { describe, expect, it } from 'vitest'
import type { ServiceError } from '../error-codes.js'
import { type Caller, may, namespaceOf, ROLES, type Role, requireRole } from './caller.js'
import { Gate } from './gate.js'
import { Token, tokenHash } from './token.js'
import { newToken, TokenBook } from './token-book.js'

const SECRET = 'a-secret-of-more-than-16'
let now = 1000

function bookOf(
  tokens: Record<string, { role?: Role; namespaces?: string[]; expiresAt?: number }>,
) {
  const book = new TokenBook(() => now)
  book.use(
    Object.entries(tokens).map(([token, { role = 'client', namespaces, expiresAt }], i) => ({
      id: `id-${i}`,
      name: `name-${i}`,
      hash: tokenHash(token),
      role,
      namespaces: namespaces ?? null,
      expiresAt: expiresAt ?? null,
    })),
  )
  return book
}

const bearer = (token: string) => ({ host: 'localhost:4290', authorization: `Bearer ${token}` })

function statusOf(work: () => unknown): number {
  try {
    work()
    return 200
  } catch (error) {
    return (error as ServiceError).status
  }
}

describe('a gate', () => {
  it('lets holders of the token do everything, and others nothing', () => {
    const gate = new Gate(new Token(SECRET), bookOf({}))
    expect(gate.admit(bearer(SECRET), '', false)).toMatchObject({ role: 'admin', namespaces: null })
    for (const headers of [{}, bearer('another'), { authorization: `Basic ${SECRET}` }])
      expect(statusOf(() => gate.admit({ host: 'x', ...headers }, '', false))).toBe(401)
  })

  it('knows the tokens of the control plane by their hash, until they end or are taken away', () => {
    now = 1000
    const token = newToken()
    const book = bookOf({ [token]: { role: 'reader', namespaces: ['shop'], expiresAt: 2000 } })
    const gate = new Gate(new Token(SECRET), book)
    const caller = gate.admit(bearer(token), '', false)
    expect(caller).toEqual({
      id: 'id-0',
      name: 'token name-0 (id-0)',
      role: 'reader',
      namespaces: new Set(['shop']),
    })
    now = 2000
    expect(statusOf(() => gate.admit(bearer(token), '', false))).toBe(401)
    now = 1000
    expect(statusOf(() => gate.admit(bearer(token), '', false))).toBe(200)
    book.use([])
    expect(statusOf(() => gate.admit(bearer(token), '', false))).toBe(401)
  })

  it('without a token lets everyone on this machine do everything, but holders of tokens only what those may', () => {
    const token = newToken()
    const gate = new Gate(null, bookOf({ [token]: { role: 'client' } }))
    const local = { host: 'localhost' }
    expect(gate.admit(local, '127.0.0.1', false)).toMatchObject({ role: 'admin', id: '127.0.0.1' })
    expect(gate.admit(bearer(token), '', false).role).toBe('client')
    // What a proxy passes on of its own callers is nobody's business here.
    expect(gate.admit({ ...local, authorization: 'Bearer theirs' }, '', false).role).toBe('admin')
    expect(statusOf(() => gate.admit(bearer(newToken()), '', false))).toBe(401)
    expect(statusOf(() => gate.admit({ host: 'evil.example' }, '', false))).toBe(403)
    expect(statusOf(() => gate.admit({ ...local, origin: 'http://evil' }, '', false))).toBe(403)
  })

  it('tells anyone of its health, as nobody in particular', () => {
    const gate = new Gate(new Token(SECRET), bookOf({}))
    const caller = gate.admit({ host: 'x' }, '', true)
    expect(may(caller, 'reader')).toBe(false)
    expect(statusOf(() => namespaceOf(caller, undefined))).toBe(403)
  })
})

describe('a caller', () => {
  const of = (role: Role, namespaces: string[] | null = null): Caller => ({
    id: 'id',
    name: 'name',
    role,
    namespaces: namespaces === null ? null : new Set(namespaces),
  })

  it('may do what the role includes, and no more', () => {
    const allowed = (role: Role) => ROLES.filter((wanted) => may(of(role), wanted))
    expect(Object.fromEntries(ROLES.map((role) => [role, allowed(role)]))).toEqual({
      client: ['client'],
      reader: ['reader'],
      operator: ['client', 'reader', 'operator'],
      admin: ['client', 'reader', 'operator', 'admin'],
    })
    expect(statusOf(() => requireRole(of('reader'), 'operator'))).toBe(403)
  })

  it('is meant to be in the stated namespace, else in the only one, else in the default one', () => {
    expect(namespaceOf(of('admin'), undefined)).toBe('default')
    expect(namespaceOf(of('admin'), 'shop')).toBe('shop')
    expect(namespaceOf(of('admin'), undefined, 'home')).toBe('home')
    expect(namespaceOf(of('client', ['shop']), undefined)).toBe('shop')
    expect(namespaceOf(of('client', ['shop', 'default']), undefined)).toBe('default')
    expect(statusOf(() => namespaceOf(of('client', ['shop']), 'bank'))).toBe(403)
    expect(statusOf(() => namespaceOf(of('client', ['shop', 'bank']), undefined))).toBe(403)
  })
})
