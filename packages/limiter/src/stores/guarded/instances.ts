/** How many instances there are: as many as beat together at any time of the last minute. */
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
