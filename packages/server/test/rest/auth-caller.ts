/** A gateway that asks `GET /v1/auth`, and sees what it must not take for an outage. */
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Answer, startService, type TestService, type TestServiceOptions } from '../service.js'
import { type RawAnswer, RawCaller } from './bytes.js'

export const AUTH_RULES = `
rules:
  login: { scope: user, resource: /login, limits: 3/d fixed }
  keys: { scope: api_key, resource: /keys, limits: 1/d fixed }
  teams: { scope: team, resource: /teams, limits: 1/d fixed, tiers: { pro: 5/d fixed } }
  dear: { scope: user, resource: /dear, limits: 3/d fixed }
  all: { scope: global, resource: /all, limits: 1/d fixed }
  orgs: { scope: org, resource: /login, limits: 1000/d fixed }
costs: { /dear: 2 }
blocks: [user:zoë, user:mallory]
`

/** One service for all tests of a file; `another` starts one that is stopped after its test. */
export function authServices() {
  let shared: TestService
  const others: TestService[] = []
  beforeAll(async () => {
    shared = await startService({ rules: AUTH_RULES })
  })
  afterAll(() => shared.stop())
  afterEach(async () => {
    for (const one of others.splice(0)) await one.stop()
  })
  return {
    service: () => shared,
    another: async (options: TestServiceOptions): Promise<TestService> => {
      const started = await startService({ rules: AUTH_RULES, ...options })
      others.push(started)
      return started
    },
  }
}

/** Bytes as they are, for what no HTTP client would send. */
export async function sent(bytes: string, to: TestService): Promise<RawAnswer | null> {
  const caller = new RawCaller(to.connect())
  caller.send(bytes)
  const answer = await caller.next()
  caller.socket.destroy()
  return answer
}
export const request = (lines: readonly string[], target = '/v1/auth') =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
const headerOf = ({ head }: RawAnswer, name: string) =>
  new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim()

/** Status and code of an error that a gateway must not take for an outage. */
export const errorOf = (answer: Answer) => [answer.status, answer.headers['x-sluice-error']]
export const rawErrorOf = (answer: RawAnswer | null) =>
  answer === null ? null : [answer.status, headerOf(answer, 'x-sluice-error')]
