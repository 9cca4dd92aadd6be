/** Which Redis is meant by an address: a single one, a cluster, or one that sentinels know. */
import { UsageError } from '../config.js'

export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel'
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly isTls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  /** The name that sentinels know the primary by. */
  readonly primary: string
}

const SCHEME = /^(redis|rediss)(?:\+(cluster|sentinel))?:\/\//
const FORMS =
  'redis://host:6379/0, rediss:// for TLS, redis+cluster://a:6379,b:6379 or redis+sentinel://a:26379,b:26379/name/0'

export function readRedisAddress(text: string): RedisAddress {
  const scheme = SCHEME.exec(text)
  if (scheme === null) throw new UsageError(`the Redis address is not one of ${FORMS}`)
  const kind = (scheme[2] ?? 'single') as RedisAddress['kind']
  const rest = text.slice(scheme[0].length)
  const at = rest.lastIndexOf('@')
  const [username, ...secret] = at < 0 ? [] : rest.slice(0, at).split(':')
  const [places = '', ...path] = rest.slice(at + 1).split('/')
  const hosts = places
    .split(',')
    .map((place) => readHost(place, kind === 'sentinel' ? 26379 : 6379))
  if (kind === 'single' && hosts.length > 1)
    throw new UsageError(`several hosts are a cluster or sentinels: ${FORMS}`)
  const database = (kind === 'sentinel' ? path[1] : path[0]) ?? ''
  if (!/^\d{0,5}$/.test(database))
    throw new UsageError(`the database of Redis is a number: ${FORMS}`)
  return {
    kind,
    hosts,
    isTls: scheme[1] === 'rediss',
    username: username === undefined || username === '' ? undefined : decoded(username),
    password: secret.length === 0 ? undefined : decoded(secret.join(':')),
    database: Number(database),
    primary: kind === 'sentinel' ? path[0] || 'mymaster' : '',
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new UsageError(
      `the user or password of Redis has a % that stands for nothing; write it %25`,
    )
  }
}

function readHost(place: string, standard: number): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(place)
  if (match === null) throw new UsageError(`a host of Redis cannot be read; expected ${FORMS}`)
  const host = match[1]!.replace(/^\[|\]$/g, '')
  return { host, port: match[2] === undefined ? standard : Number(match[2]) }
}

/** For people and logs: never the password. */
export function printRedisAddress({ hosts, kind }: RedisAddress): string {
  const list = hosts.map(({ host, port }) => `${host}:${port}`).join(',')
  return kind === 'single' ? list : `${kind} ${list}`
}
