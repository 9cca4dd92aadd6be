/**
 * What `GET /metrics` answers. Computing it takes milliseconds in which nothing is decided, so it is
 * computed at most once a second, however often it is asked for. Every caller who may see metrics sees
 * all of them, so one text serves all.
 */
import type { Registry } from 'prom-client'

const GOOD_FOR_MS = 1000

export class MetricsText {
  readonly contentType: string
  /** How many times it was computed. */
  computed = 0
  readonly #registry: Pick<Registry, 'metrics' | 'contentType'>
  readonly #now: () => number
  #text: Promise<string> | null = null
  #at = 0

  constructor(
    registry: Pick<Registry, 'metrics' | 'contentType'>,
    now: () => number = () => performance.now(),
  ) {
    this.#registry = registry
    this.#now = now
    this.contentType = registry.contentType
  }

  /** Not older than a second. A failure is not kept. */
  text(): Promise<string> {
    const now = this.#now()
    if (this.#text !== null && now - this.#at < GOOD_FOR_MS) return this.#text
    this.computed++
    this.#at = now
    const text = this.#registry.metrics()
    this.#text = text
    text.catch(() => {
      if (this.#text === text) this.#text = null
    })
    return text
  }
}
