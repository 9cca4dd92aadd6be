import { type Method, type RouteContract, routeOf } from '@sluice/contract'
import { describe, expect, it } from 'vitest'
import { ServiceError } from '../error-codes.js'
import type { Caller } from '../security/caller.js'
import { OrdinaryAnswers } from './answers.js'
import type { Call, Route } from './route.js'

const ADMIN: Caller = { name: 'me', id: 'me', role: 'admin', namespaces: null }
const route = (
  method: Method,
  path: string,
  more: Partial<RouteContract> = {},
  handle: Route['handle'] = ({ params }: Call) => ({ status: 200, body: { path, params } }),
): Route => ({
  id: 'check',
  contract: {
    ...routeOf('check'),
    kind: 'operating',
    method,
    path,
    role: 'reader',
    longestBody: 1000,
    body: null,
    ...more,
  },
  handle,
})

function answersOf(...routes: Route[]) {
  const answers = new OrdinaryAnswers(routes, () => undefined)
  const ask = (
    method: string,
    path: string,
    more: Partial<Parameters<typeof answers.handle>[1]> = {},
  ) =>
    answers.guarded(async () =>
      answers.handle(answers.find(path, method), {
        caller: ADMIN,
        headers: {},
        rawHeaders: [],
        bytes: null,
        query: '',
        ...more,
      }),
    )
  return { answers, ask }
}

describe('routes', () => {
  it('are found by their path, a spelled one before one with names', async () => {
    const { ask } = answersOf(
      route('GET', '/v1/rules/{id}'),
      route('GET', '/v1/rules/special'),
      route('GET', '/v1/subjects/{scope}/{value}/limits'),
    )
    expect((await ask('GET', '/v1/rules/special')).body).toMatchObject({ params: {} })
    expect((await ask('GET', '/v1/rules/7')).body).toMatchObject({ params: { id: '7' } })
    expect((await ask('GET', '/v1/subjects/ip/2001%3Adb8%3A%3A%2F32/limits')).body).toMatchObject({
      params: { scope: 'ip', value: '2001:db8::/32' },
    })
    for (const path of ['/v1/rules/', '/v1/rules/a/b', '/v1/rules', '/v1/rules/{id}/x'])
      expect((await ask('GET', path)).status).toBe(404)
    expect((await ask('GET', '/v1/rules/%zz')).status).toBe(400)
  })

  it('say which methods a path has', async () => {
    const { ask } = answersOf(route('GET', '/v1/rules/{id}'), route('DELETE', '/v1/rules/{id}'))
    const refused = await ask('POST', '/v1/rules/7')
    expect([refused.status, refused.headers?.['Allow']]).toEqual([405, 'GET, DELETE'])
    expect((await ask('HEAD', '/v1/rules/7')).status).toBe(200)
  })

  it('of the control plane take no body that does not say that it is JSON', async () => {
    const { ask } = answersOf(
      route('POST', '/v1/rules', { kind: 'control' }),
      route('POST', '/check'),
    )
    const bytes = Buffer.from('{}')
    const typed = (type: string) =>
      ask('POST', '/v1/rules', { bytes, headers: { 'content-type': type } })
    expect((await ask('POST', '/v1/rules', { bytes })).status).toBe(415)
    expect((await typed('text/plain')).status).toBe(415)
    expect((await typed('application/jsonp')).status).toBe(415)
    expect((await typed('application/json; charset=utf-8')).status).toBe(200)
    expect((await typed('application/merge-patch+json')).status).toBe(200)
    expect((await ask('POST', '/check', { bytes })).status).toBe(200)
  })

  it('are asked only by whom their role allows, and as often as the limit does', async () => {
    const counted: string[] = []
    const limited = () => {
      throw new ServiceError('limited', 'not now')
    }
    const routes = [
      route('GET', '/metrics'),
      route('GET', '/v1/rules', { kind: 'control' }),
      route('POST', '/v1/rules', { kind: 'control', role: 'admin' }),
    ]
    const answers = new OrdinaryAnswers(
      routes,
      () => undefined,
      (caller, isWrite) => {
        counted.push(`${caller.id} ${isWrite ? 'writes' : 'reads'}`)
        return caller.id === 'eager' ? limited() : undefined
      },
    )
    for (const one of routes) await answers.admit(one, ADMIN)
    expect(counted).toEqual(['me reads', 'me writes'])
    expect(() => answers.admit(routes[1]!, { ...ADMIN, id: 'eager' })).toThrow('not now')
    expect(() => answers.admit(routes[2]!, { ...ADMIN, role: 'operator' })).toThrow(/role admin/)
  })

  it('that are to go say so, and when', async () => {
    const deprecated = {
      since: new Date('2026-01-01T00:00:00Z'),
      sunset: new Date('2026-07-01T00:00:00Z'),
    }
    const { ask } = answersOf(route('GET', '/v1/old', { deprecated }), route('GET', '/v1/new'))
    expect((await ask('GET', '/v1/old')).headers).toEqual({
      Deprecation: '@1767225600',
      Sunset: 'Wed, 01 Jul 2026 00:00:00 GMT',
    })
    expect((await ask('GET', '/v1/new')).headers).toBeUndefined()
  })

  it('say what a body is that is no object', async () => {
    const handle = ({ body }: Call) => ({ status: 200, body: body() })
    const { ask } = answersOf(route('POST', '/x', {}, handle))
    const said = async (text: string) => {
      const reply = await ask('POST', '/x', { bytes: Buffer.from(text) })
      return (reply.body as { error: { message: string } }).error.message
    }
    expect(await said('[{"a":1}]')).toBe('the body is a list; expected an object')
    expect(await said('5')).toBe('the body is 5; expected an object')
    const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`
    expect(await said(deep)).toBe('the body is nested more than 64 deep')
  })

  it('answer a defect without a word of what it is', async () => {
    const handle = (_call: Call) => {
      throw new Error('secret')
    }
    const reply = await answersOf(route('GET', '/x', {}, handle)).ask('GET', '/x')
    expect(reply.status).toBe(500)
    expect(JSON.stringify(reply)).not.toContain('secret')
  })
})
