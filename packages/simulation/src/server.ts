/**
 * The server that all instances ask, with a clock of its own, and the wire to it. What an instance asks in
 * one turn travels together: it arrives, or not, and its answers arrive, or not. Faults are drawn by lot.
 */
import { Counters } from './counters.js'
import type { Random } from './random.js'
import type { World } from './world.js'

/** How the wire is today. Parts are of calls, times in microseconds. */
export interface Weather {
  readonly delay: readonly [least: number, most: number]
  /** Calls that never arrive, whose answers never arrive, that are refused before anything was done, and that arrive twice. */
  readonly lost: number
  readonly unanswered: number
  readonly refused: number
  readonly doubled: number
  /** Calls that take much longer. */
  readonly slow: number
}

export const FINE: Weather = {
  delay: [100, 1500],
  lost: 0,
  unanswered: 0,
  refused: 0,
  doubled: 0,
  slow: 0,
}

/** What is done at the server at its own time; what it answers reaches the caller later. */
export interface Request {
  run(counters: Counters, storeTime: number): () => void
}

export class Server {
  counters: Counters
  weather: Weather
  readonly #world: World
  readonly #random: Random
  /** How far its clock is ahead of true time. */
  ahead = 0
  /** It answers nobody before this time. */
  #standsUntil = 0
  calls = 0

  constructor(world: World, random: Random, weather: Weather, counters = new Counters()) {
    this.#world = world
    this.#random = random
    this.weather = weather
    this.counters = counters
  }

  get time(): number {
    return Math.round(this.#world.now + this.ahead)
  }

  /** Answers nobody for so long. */
  stand(us: number): void {
    this.#standsUntil = Math.ceil(this.#world.now + us)
  }

  /** `back` gets what the answers do; `refused` is called where certainly nothing was done. */
  send(requests: readonly Request[], back: (answers: () => void) => void, refused: () => void) {
    const { weather } = this
    const random = this.#random
    this.calls++
    if (random.chance(weather.lost)) return
    if (random.chance(weather.refused)) {
      this.#world.after(this.#delay(), () => back(refused))
      return
    }
    const times = random.chance(weather.doubled) ? 2 : 1
    for (let i = 0; i < times; i++)
      this.#world.after(this.#delay(), () => this.#arrive(requests, back))
  }

  #arrive(requests: readonly Request[], back: (answers: () => void) => void): void {
    if (this.#world.now < this.#standsUntil) {
      this.#world.at(this.#standsUntil, () => this.#arrive(requests, back))
      return
    }
    const { time } = this
    const answers = requests.map((request) => request.run(this.counters, time))
    if (this.#random.chance(this.weather.unanswered)) return
    this.#world.after(this.#delay(), () =>
      back(() => {
        for (const answer of answers) answer()
      }),
    )
  }

  #delay(): number {
    const [least, most] = this.weather.delay
    const delay = this.#random.between(least, most)
    return this.#random.chance(this.weather.slow) ? delay * 60 : delay
  }
}
