/** Answers in the order of their requests, whenever each is there. Those that come together leave together. */

/** An answer's place; null while it is being decided. */
interface Place {
  bytes: Buffer | null
}

export class AnswerQueue {
  readonly #places: Place[] = []
  readonly #send: (bytes: Buffer) => void
  #isFlushing = false

  constructor(send: (bytes: Buffer) => void) {
    this.#send = send
  }

  get isEmpty(): boolean {
    return this.#places.length === 0
  }

  /** Keeps the next place. What it is given leaves once all before it have. */
  next(): (bytes: Buffer) => void {
    const place: Place = { bytes: null }
    this.#places.push(place)
    return (bytes) => {
      place.bytes = bytes
      this.#flushSoon()
    }
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    queueMicrotask(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    let ready = 0
    while (ready < this.#places.length && this.#places[ready]!.bytes !== null) ready++
    if (ready === 0) return
    const bytes = this.#places.splice(0, ready).map((place) => place.bytes!)
    this.#send(bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes))
  }
}
