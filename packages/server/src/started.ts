/** What has been started, to be ended in reverse. */
export class Started {
  readonly #ends: (() => Promise<void> | void)[] = []

  add(end: () => Promise<void> | void): void {
    this.#ends.push(end)
  }

  /** All of it, whatever goes wrong with one. */
  async end(failed: (error: unknown) => void): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) {
      try {
        await end()
      } catch (error) {
        failed(error)
      }
    }
  }
}
