/**
 * Load on sidecars, and the history of it: what was asked, when it was sent and answered by one clock that
 * never goes back, and what the answer was. Who is asked is dealt anew every 300 ms. An answer that never
 * came is counted apart: its caller was not let through.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A row's checks: so many a second. */
export interface Demand {
  readonly resource: string
  readonly user: string
  readonly perSecond: number
}

/** An answered check; times are of `performance.now`. */
export interface Answered {
  readonly resource: string
  readonly user: string
  /** Which sidecar was asked. */
  readonly by: number
  readonly sentAt: number
  readonly answeredAt: number
  readonly allowed: boolean
  readonly degraded: boolean
}

const TURN_MS = 10
const DEALT_EVERY_MS = 300
/** How uneven a deal is: the first has most, the last hardly anything. */
const PARTS = [0.55, 0.25, 0.15, 0.05]
/** Under way to one sidecar at a time; a paused one is asked for no more than this. */
const MOST_UNDER_WAY = 24

/** Nobody listens: nobody was asked. */
const isNobody = (code: string | undefined) => code === 'ECONNREFUSED' || code === 'ENOENT'

type Check = Pick<Demand, 'resource' | 'user'>

export class Load {
  readonly answers: Answered[] = []
  /** Checks that were sent and never answered. */
  unanswered = 0
  readonly #sockets: readonly string[]
  readonly #agents: readonly Agent[]
  readonly #underWay: number[]
  readonly #credits: number[]

  constructor(sockets: readonly string[]) {
    this.#sockets = sockets
    this.#agents = sockets.map(() => new Agent({ keepAlive: true, maxSockets: MOST_UNDER_WAY }))
    this.#underWay = sockets.map(() => 0)
    this.#credits = sockets.map(() => 0)
  }

  /** Asks for so long; `only`: just these sidecars, evenly. Resolves when the time is over, whatever is under way. */
  async ask(demands: readonly Demand[], ms: number, only?: readonly number[]): Promise<void> {
    await this.askWhile(demands, sleep(ms), only)
  }

  /** The same until something is done; resolves with what that does. */
  async askWhile<T>(
    demands: readonly Demand[],
    work: Promise<T>,
    only?: readonly number[],
  ): Promise<T> {
    let isDone = false
    const done = () => {
      isDone = true
    }
    work.finally(done).catch(() => {})
    const began = performance.now()
    const asked = demands.map(() => 0)
    for (;;) {
      const elapsed = performance.now() - began
      const due: Check[] = demands.flatMap(({ resource, user, perSecond }, i) => {
        const count = Math.floor((perSecond * elapsed) / 1000) - asked[i]!
        asked[i]! += count
        return Array.from({ length: count }, () => ({ resource, user }))
      })
      this.#deal(due, this.#partsAt(elapsed, only))
      if (isDone) return work
      await sleep(TURN_MS)
    }
  }

  #partsAt(elapsed: number, only: readonly number[] | undefined): number[] {
    const turn = Math.floor(elapsed / DEALT_EVERY_MS)
    const count = this.#sockets.length
    if (only !== undefined)
      return this.#sockets.map((_, i) => (only.includes(i) ? 1 / only.length : 0))
    return this.#sockets.map((_, i) => PARTS[(i + turn) % count]!)
  }

  /** To whoever is owed most; of each one's lot the first goes alone and the others together. */
  #deal(due: readonly Check[], parts: readonly number[]): void {
    const lots: Check[][] = parts.map(() => [])
    for (const check of due) {
      for (const [i, part] of parts.entries()) this.#credits[i]! += part
      const most = this.#credits.indexOf(Math.max(...this.#credits))
      this.#credits[most]! -= 1
      lots[most]!.push(check)
    }
    for (const [by, [first, ...others]] of lots.entries()) {
      if (first === undefined) continue
      this.#send(by, [first])
      if (others.length > 0) this.#send(by, others)
    }
  }

  #send(by: number, checks: readonly Check[]): void {
    if (this.#underWay[by]! >= MOST_UNDER_WAY) return
    this.#underWay[by]!++
    const wire = checks.map(({ resource, user }) => ({ resource, subject: { user } }))
    const [path, body] =
      wire.length === 1 ? ['/v1/check', wire[0]] : ['/v1/check/batch', { checks: wire }]
    const sentAt = performance.now()
    let isOver = false
    const over = (results: readonly { allowed: boolean; degraded?: boolean }[] | null) => {
      if (isOver) return
      isOver = true
      this.#underWay[by]!--
      if (results === null) this.unanswered += checks.length
      const answeredAt = performance.now()
      for (const [i, { allowed, degraded }] of results?.entries() ?? [])
        this.answers.push({
          ...checks[i]!,
          by,
          sentAt,
          answeredAt,
          allowed,
          degraded: degraded === true,
        })
    }
    const options = { socketPath: this.#sockets[by]!, agent: this.#agents[by]!, method: 'POST' }
    const sent = request({ ...options, path }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => over(null))
      response.on('end', () => {
        const said = JSON.parse(Buffer.concat(chunks).toString())
        over(checks.length === 1 ? [said] : said.results)
      })
    })
    sent.on('error', ({ code }: NodeJS.ErrnoException) => over(isNobody(code) ? [] : null))
    sent.end(JSON.stringify(body))
  }

  get underWay(): number {
    return this.#underWay.reduce((sum, each) => sum + each, 0)
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy()
  }
}
