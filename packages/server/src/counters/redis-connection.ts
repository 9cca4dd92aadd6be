/** Connections to the Redis of an address, with settings that are safe. */
import { ioredisClusterOptions, ioredisOptions } from '@sluice/limiter/redis'
import { Cluster, Redis } from 'ioredis'
import type { RedisAddress } from './redis-address.js'

/** `socketTimeoutMs`: how long an answer may be waited for, where that is longer than for a decision. */
export function connectRedis(address: RedisAddress, socketTimeoutMs?: number): Redis | Cluster {
  const { kind, hosts, isTls, username, password, database, primary } = address
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isTls ? { tls: {} } : {}),
    ...(socketTimeoutMs === undefined ? {} : { socketTimeout: socketTimeoutMs }),
  }
  if (kind === 'cluster')
    return new Cluster([...hosts], {
      ...ioredisClusterOptions,
      redisOptions: { ...ioredisClusterOptions.redisOptions, ...login },
    })
  if (kind === 'sentinel')
    return new Redis({
      ...ioredisOptions,
      ...login,
      sentinels: [...hosts],
      name: primary,
      db: database,
    })
  return new Redis({ ...ioredisOptions, ...login, ...hosts[0]!, db: database })
}
