/**
 * Says regularly that this instance is there, and counts how many there are. While a node is not asked as usual,
 * each beat is a question whether it is back.
 */
import type { RemoteStore } from '../remote-store.js'
import type { NodesHealth } from './node-health.js'

/** Milliseconds between two beats; and between two questions whether a node is back. */
const BEAT_MS = 2000
const ASKING_MS = 500

export class Heartbeat {
  readonly #store: RemoteStore
  readonly #nodes: NodesHealth
  readonly #instances: Instances
  #timer: ReturnType<typeof setInterval> | undefined
  #beatAt = Number.NEGATIVE_INFINITY
  /** Where instances are counted. */
  #countingNode = ''

  constructor(store: RemoteStore, nodes: NodesHealth, instances: Instances) {
    this.#store = store
    this.#nodes = nodes
    this.#instances = instances
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#beatIfDue(), ASKING_MS)
    this.#timer.unref()
    void this.beat()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #beatIfDue(): void {
    const away = this.#nodes.away.map(({ node }) => node)
    if (away.length > 0) {
      this.#nodes.keep(this.#store.nodes)
      this.#store.findOwners()
    }
    const isDue = performance.now() >= this.#beatAt + BEAT_MS - ASKING_MS / 2
    if ((isDue || away.includes(this.#countingNode)) && !this.#nodes.isBeatOut(this.#countingNode))
      void this.beat()
    for (const { node } of this.#nodes.away)
      if (node !== this.#countingNode && !this.#nodes.isBeatOut(node)) this.#ask(node)
  }

  /** Says at once that this instance is there. */
  async beat(): Promise<void> {
    this.#beatAt = performance.now()
    const { node, count } = this.#store.beat(null)
    this.#countingNode = node
    try {
      this.#instances.saw(await count)
    } catch {
      // The next one may get through.
    }
  }

  #ask(node: string): void {
    this.#store.beat(node).count.catch(() => {})
  }
}

const REMEMBERED_MS = 60_000

export class Instances {
  readonly #configured: number
  #seen: { readonly at: number; readonly count: number }[] = []

  /** `configured`: how many, until they have been counted. */
  constructor(configured: number) {
    this.#configured = configured
  }

  saw(count: number): void {
    const at = performance.now()
    this.#seen = this.#seen.filter((each) => each.at > at - REMEMBERED_MS && each.count > count)
    this.#seen.push({ at, count })
  }

  /** Kept as it was while nobody can be counted. */
  get count(): number {
    return Math.max(1, this.#seen[0]?.count ?? this.#configured)
  }
}
