/** Numbers that look random and are the same for the same seed, everywhere. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0
    for (let i = 0; i < 8; i++) this.next()
  }

  /** From 0 up to, but not, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  between(least: number, most: number): number {
    return least + (most - least) * this.next()
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor((most - least + 1) * this.next())
  }

  chance(part: number): boolean {
    return this.next() < part
  }

  pick<T>(list: readonly T[]): T {
    return list[this.whole(0, list.length - 1)]!
  }

  /** A wait of this length on average, as of things that happen by themselves. */
  wait(average: number): number {
    return -Math.log(1 - this.next()) * average
  }

  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list]
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.whole(0, i)
      ;[out[i], out[j]] = [out[j]!, out[i]!]
    }
    return out
  }
}
