/**
 * Virtual time: what is to happen, in order. Nothing here reads a real clock, so a run is a function of its
 * seed. Promises are settled between two events, as the event loop would.
 */
interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** When every world begins: microseconds of true time. */
export const BEGINNING = 1_800_000_000_000_000

export class World {
  /** True time, in whole microseconds. */
  now = BEGINNING
  readonly #heap: Event[] = []
  #order = 0
  /** Something was promised that others wait for. */
  #hasPromises = false

  at(time: number, run: () => void): void {
    push(this.#heap, { at: Math.max(Math.round(time), this.now), order: this.#order++, run })
  }

  after(us: number, run: () => void): void {
    this.at(this.now + us, run)
  }

  /** Whoever settles a promise says so: those who wait for it go on before time does. */
  settled(): void {
    this.#hasPromises = true
  }

  async runUntil(end: number): Promise<void> {
    while (this.#heap.length > 0 && this.#heap[0]!.at <= end) {
      const event = pop(this.#heap)
      this.now = event.at
      event.run()
      if (!this.#hasPromises) continue
      this.#hasPromises = false
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
    }
    this.now = end
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function push(heap: Event[], event: Event): void {
  heap.push(event)
  let i = heap.length - 1
  while (i > 0) {
    const parent = (i - 1) >> 1
    if (isBefore(heap[parent]!, event)) break
    heap[i] = heap[parent]!
    i = parent
  }
  heap[i] = event
}

function pop(heap: Event[]): Event {
  const first = heap[0]!
  const last = heap.pop()!
  if (heap.length === 0) return first
  let i = 0
  for (;;) {
    let child = 2 * i + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
    if (isBefore(last, heap[child]!)) break
    heap[i] = heap[child]!
    i = child
  }
  heap[i] = last
  return first
}
