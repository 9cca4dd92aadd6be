/** So many connections for so long, and what came of it. */
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { routeOf } from '@sluice/contract'

export interface LoadPlan {
  readonly url: URL
  readonly token: string | undefined
  readonly namespace: string | undefined
  readonly durationMs: number
  readonly connections: number
  /** Checks in a request; 1 is no batch. */
  readonly batch: number
  /** So much is done, from 0 to 1. */
  readonly progress: (share: number, requests: number) => void
}

export interface LoadResult {
  readonly seconds: number
  readonly requests: number
  readonly decisions: number
  readonly latencies: Latencies
  /** Answers that were a no; batches are not looked into. */
  readonly denied: number
  /** Answers that were neither yes nor no, by status. */
  readonly refused: ReadonlyMap<number, number>
  /** Why the first connection was lost, and how many were. */
  readonly lost: { readonly count: number; readonly why: string } | null
}

const SUBJECTS = 1000
export const RESOURCE = '/sluice-bench'
const DECISIONS = new Set([200, 403, 429, 503])
const BEAT_MS = 200

export function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const requests = requestsOf(plan)
  const latencies = new Latencies()
  const refused = new Map<number, number>()
  let [turn, denied, lost, why] = [0, 0, 0, '']
  const started = performance.now()
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      clearInterval(beat)
      for (const connection of connections) connection.close()
      const good = latencies.count - [...refused.values()].reduce((sum, count) => sum + count, 0)
      resolve({
        seconds: (performance.now() - started) / 1000,
        requests: latencies.count,
        decisions: good * plan.batch,
        latencies,
        denied,
        refused,
        lost: lost === 0 ? null : { count: lost, why },
      })
    }
    const timer = setTimeout(end, plan.durationMs)
    const beat = setInterval(() => {
      plan.progress((performance.now() - started) / plan.durationMs, latencies.count)
    }, BEAT_MS)
    const connections = Array.from(
      { length: plan.connections },
      () =>
        new LoadConnection({
          url: plan.url,
          next: () => requests[turn++ % requests.length]!,
          answered: (status, body, ms) => {
            latencies.add(ms)
            if (status === 429) denied++
            if (!isDecision(status, body)) refused.set(status, (refused.get(status) ?? 0) + 1)
          },
          failed: (reason) => {
            why ||= reason
            if (++lost === plan.connections) end()
          },
        }),
    )
  })
}

/** 403 and 503 may be refusals of the caller too. */
function isDecision(status: number, body: Buffer): boolean {
  if (status === 200 || status === 429) return true
  return DECISIONS.has(status) && body.includes('"allowed"')
}

/** Made before: the client only sends them. */
function requestsOf({ url, token, namespace, batch }: LoadPlan): Buffer[] {
  const named = namespace === undefined ? {} : { namespace }
  let next = 0
  const check = () => ({
    ...named,
    subject: { user: `bench-${next++ % SUBJECTS}` },
    resource: RESOURCE,
  })
  const { method, path } = routeOf(batch === 1 ? 'check' : 'checkBatch')
  const target = `${url.pathname.replace(/\/$/, '')}${path}`
  return Array.from({ length: SUBJECTS }, () => {
    const asked = batch === 1 ? check() : { checks: Array.from({ length: batch }, check) }
    const body = JSON.stringify(asked)
    const head = [
      `${method} ${target} HTTP/1.1`,
      `Host: ${url.host}`,
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

/** What was answered, and how long that took. */
type Answered = (status: number, body: Buffer, ms: number) => void

interface LoadOptions {
  readonly url: URL
  /** The next request, whole. */
  readonly next: () => Buffer
  readonly answered: Answered
  /** It cannot go on. */
  readonly failed: (why: string) => void
}

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * One keep-alive connection that always has one request under way, written and read as bytes: the client
 * shares the machine with the server, so it is to take as little of it as it can.
 */
class LoadConnection {
  readonly #socket: Socket
  readonly #options: LoadOptions
  #buffered: Buffer = Buffer.alloc(0)
  #sentAt = 0
  #isClosed = false

  constructor(options: LoadOptions) {
    this.#options = options
    const { url } = options
    const isTls = url.protocol === 'https:'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const where = { host, port: Number(url.port || (isTls ? 443 : 80)) }
    this.#socket = isTls
      ? connectTls({ ...where, servername: host }, () => this.#send())
      : connectTcp(where, () => this.#send())
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('error', (error: NodeJS.ErrnoException) =>
      this.#fail(error.code ?? error.message),
    )
    this.#socket.on('close', () => this.#fail('the server closed a connection'))
  }

  close(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  #send(): void {
    if (this.#isClosed) return
    this.#sentAt = performance.now()
    this.#socket.write(this.#options.next())
  }

  #read(chunk: Buffer): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    const headEnd = this.#buffered.indexOf(HEAD_END)
    if (headEnd < 0) return
    const head = this.#buffered.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (!head.startsWith('HTTP/1.1 ') || length === null)
      return this.#fail('it answers, but not as Sluice does')
    const end = headEnd + HEAD_END.length + Number(length[1])
    if (this.#buffered.length < end) return
    const body = this.#buffered.subarray(headEnd + HEAD_END.length, end)
    this.#buffered = this.#buffered.subarray(end)
    this.#options.answered(Number(head.slice(9, 12)), body, performance.now() - this.#sentAt)
    this.#send()
  }

  #fail(why: string): void {
    if (this.#isClosed) return
    this.close()
    this.#options.failed(why)
  }
}

const STEP = Math.log(1.01)
const STEPS = 2000
/** In milliseconds. */
const SHORTEST = 0.001

/** Very many durations in little memory: counted in steps of one percent. */
export class Latencies {
  readonly #counts = new Float64Array(STEPS)
  count = 0
  maxMs = 0

  add(ms: number): void {
    const step = Math.log(Math.max(ms, SHORTEST) / SHORTEST) / STEP
    this.#counts[Math.min(STEPS - 1, Math.floor(step))]!++
    this.count++
    if (ms > this.maxMs) this.maxMs = ms
  }

  /** At most one percent above the true one; 0 where there are none. */
  percentileMs(share: number): number {
    let left = Math.ceil(this.count * share)
    for (let i = 0; i < STEPS && left > 0; i++) {
      left -= this.#counts[i]!
      if (left <= 0) return Math.min(this.maxMs, SHORTEST * Math.exp((i + 1) * STEP))
    }
    return 0
  }
}
