/**
 * A network that fails on demand: TCP in front of a Redis port, switched at run time. What it has taken in
 * is never lost inside a connection that lives on, as TCP would have it: after a black hole it comes late.
 */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const HOST = '127.0.0.1'

interface Pair {
  readonly client: Socket
  readonly upstream: Socket
  /** What is on its way to each side, in order. */
  readonly onItsWay: Map<Socket, Promise<void>>
}

export class FaultProxy {
  #upstreamPort: number
  readonly #pairs = new Set<Pair>()
  /** Clients whose other side is gone, and who have not been told. */
  readonly #stranded = new Set<Socket>()
  #server: Server | null = null
  #replyDelayMs = 0
  #isBlackHole = false
  /** Once a command with this text has gone through, replies wait. */
  #stallingText: string | null = null
  #stalled: (() => void)[] | null = null
  port = 0

  private constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort
  }

  static async start(upstreamPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstreamPort)
    await proxy.#listen()
    return proxy
  }

  get url(): string {
    return `redis://${HOST}:${this.port}`
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#accept(client))
    this.#server = server
    server.listen(this.port, HOST)
    await once(server, 'listening')
    this.port = (server.address() as { port: number }).port
  }

  #accept(client: Socket): void {
    const upstream = connect(this.#upstreamPort, HOST)
    const pair: Pair = { client, upstream, onItsWay: new Map() }
    this.#pairs.add(pair)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('data', (data) => this.#forward(pair, to, data))
      from.on('close', () => {
        if (!this.#pairs.delete(pair)) return
        to.destroy()
      })
      if (this.#isBlackHole) from.pause()
    }
  }

  #forward({ client, onItsWay }: Pair, to: Socket, data: Buffer): void {
    const leavesAt = performance.now() + (to === client ? this.#replyDelayMs : 0)
    if (to !== client && this.#stallingText !== null && data.includes(this.#stallingText)) {
      this.#stallingText = null
      this.#stalled = []
    }
    const isStalled = to === client && this.#stalled !== null
    const send = async (before: Promise<void> | undefined) => {
      await before
      if (isStalled) await new Promise<void>((resolve) => this.#stalled?.push(resolve) ?? resolve())
      const waitMs = leavesAt - performance.now()
      if (waitMs > 0) await sleep(waitMs)
      to.write(data)
    }
    onItsWay.set(to, send(onItsWay.get(to)))
  }

  /** Everything as it should be. */
  async pass(): Promise<void> {
    this.#replyDelayMs = 0
    this.#isBlackHole = false
    this.#stallingText = null
    const stalled = this.#stalled ?? []
    this.#stalled = null
    for (const resume of stalled) resume()
    for (const { client, upstream } of this.#pairs) {
      client.resume()
      upstream.resume()
    }
    if (this.#server === null) await this.#listen()
  }

  /** Commands arrive at once, replies after this long. */
  delayReplies(ms: number): void {
    this.#replyDelayMs = ms
  }

  /** Replies wait from the next command on that has this text in it, until `pass`. Commands arrive. */
  stallAfter(text: string): void {
    this.#stallingText = text
  }

  /** Whether such a command has gone through. */
  get isStalled(): boolean {
    return this.#stalled !== null
  }

  /** Connections are taken and nothing goes through either way. */
  blackHole(): void {
    this.#isBlackHole = true
    for (const { client, upstream } of this.#pairs) {
      client.pause()
      upstream.pause()
    }
  }

  /** The server's side of every connection is gone; the client's stays open and silent. New ones work. */
  halfOpen(): void {
    for (const pair of this.#pairs) {
      this.#pairs.delete(pair)
      pair.upstream.destroy()
      pair.client.removeAllListeners('data')
      pair.client.resume()
      this.#stranded.add(pair.client)
    }
  }

  /** New connections go there. */
  redirect(upstreamPort: number): void {
    this.#upstreamPort = upstreamPort
  }

  /** A reset on every connection; new ones work. */
  reset(): void {
    for (const pair of this.#pairs) {
      this.#pairs.delete(pair)
      pair.client.resetAndDestroy()
      pair.upstream.destroy()
    }
  }

  /** Nobody listens, and every connection is closed. */
  async refuse(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    const closed = once(server, 'close')
    server.close()
    this.reset()
    for (const client of this.#stranded) client.destroy()
    this.#stranded.clear()
    await closed
  }

  async stop(): Promise<void> {
    await this.refuse()
  }
}
