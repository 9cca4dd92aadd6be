/**
 * A primary with one replica behind one address, which takes over when it is told to. Sentinel would do the
 * same, later and not always once: here what is lost, and when, is in the hands of the test.
 */
import { FaultProxy } from '../../../limiter/test/redis/faults/fault-proxy.js'
import { RedisServer, until } from '../../../limiter/test/redis/servers.js'

export class ReplicatedRedis {
  readonly #primary: RedisServer
  readonly #replica: RedisServer
  readonly #address: FaultProxy

  private constructor(primary: RedisServer, replica: RedisServer, address: FaultProxy) {
    this.#primary = primary
    this.#replica = replica
    this.#address = address
  }

  static async start(): Promise<ReplicatedRedis> {
    const primary = await RedisServer.start({ args: ['--repl-diskless-sync-delay', '0'] })
    const replica = await RedisServer.start({
      args: ['--replicaof', '127.0.0.1', String(primary.port)],
    })
    await until('the replica is linked', async () =>
      (await replica.admin.info('replication')).includes('master_link_status:up'),
    )
    return new ReplicatedRedis(primary, replica, await FaultProxy.start(primary.port))
  }

  get url(): string {
    return this.#address.url
  }

  /** The replica has heard of everything up to some time after this was called, and of nothing later. */
  async cut(): Promise<void> {
    const { admin } = this.#primary
    await admin.set('heard', 'by the replica')
    await admin.wait(1, 0)
    // Who is connected stays so; who is cut off does not come back.
    await admin.config('SET', 'requirepass', 'nobody')
    await admin.call('CLIENT', 'KILL', 'TYPE', 'replica')
  }

  killPrimary(): Promise<void> {
    return this.#primary.kill()
  }

  async promote(): Promise<void> {
    await this.#replica.admin.replicaof('NO', 'ONE')
    this.#address.redirect(this.#replica.port)
  }

  async stop(): Promise<void> {
    await this.#address.stop()
    await Promise.all([this.#primary.stop(), this.#replica.stop()])
  }
}
