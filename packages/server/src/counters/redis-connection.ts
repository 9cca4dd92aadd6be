/** Connections to the Redis of an address, with settings that are safe. */
import type { Duplex } from 'node:stream'
import { ioredisClusterOptions, ioredisOptions, keepConnected } from '@sluice/limiter/redis'
import { AbstractConnector, Cluster, Redis } from 'ioredis'
import type { RedisAddress } from './redis-address.js'

// ioredis listens for one error of a connection. A TLS handshake that it gives up half-way can fail twice, with
// the certificate and with the other end's alert, and an error that nobody listens for ends the process.
const connector = AbstractConnector.prototype as unknown as {
  disconnect: (this: { readonly stream?: Duplex }) => void
}
const giveUp = connector.disconnect
connector.disconnect = function () {
  this.stream?.on('error', () => {})
  giveUp.call(this)
}

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
  if (kind === 'sentinel') {
    const client = new Redis({
      ...ioredisOptions,
      ...login,
      // Without these the client ignores `tls` here, and speaks in the clear to sentinels and servers.
      ...(isTls ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
      sentinels: [...hosts],
      name: primary,
      db: database,
    })
    keepConnected(client)
    return client
  }
  return new Redis({ ...ioredisOptions, ...login, ...hosts[0]!, db: database })
}
