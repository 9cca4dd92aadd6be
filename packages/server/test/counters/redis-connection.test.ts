/** The service's own connections to a Redis that sentinels know. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { readRedisAddress } from '../../src/counters/redis-address.js'
import { connectRedis } from '../../src/counters/redis-connection.js'

it('are made again where ioredis gives up, because it was told of a new primary while it asked', async () => {
  const asking: Socket[] = []
  const sentinel = createServer((socket) => asking.push(socket))
  sentinel.listen(0, '127.0.0.1')
  await once(sentinel, 'listening')
  const { port } = sentinel.address() as AddressInfo
  const client = connectRedis(readRedisAddress(`redis+sentinel://127.0.0.1:${port}/main`))
  client.on('error', () => {})
  try {
    await once(sentinel, 'connection')
    const { connector } = client as unknown as { connector: { disconnect(): void } }
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    connector.disconnect()
    for (const socket of asking) socket.destroy()
    await ended
    await once(sentinel, 'connection')
    expect(client.status).toBe('connecting')
  } finally {
    client.disconnect()
    for (const socket of asking) socket.destroy()
    sentinel.close()
  }
})
