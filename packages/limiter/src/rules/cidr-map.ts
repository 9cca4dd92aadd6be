/** Values by CIDR: one map per prefix length, longest first, so that a lookup costs the lengths in use. */
import { type Cidr, type IpAddress, maskWords } from './ip-address.js'

type Networks<T> = { readonly bits: number; readonly byPrefix: Map<number | string, T> }

export class CidrMap<T> {
  readonly #networks: Record<4 | 6, Networks<T>[]> = { 4: [], 6: [] }

  get isEmpty(): boolean {
    return this.#networks[4].length === 0 && this.#networks[6].length === 0
  }

  getOrAdd(cidr: Cidr, make: () => T): T {
    const networks = this.#networks[cidr.version]
    let network = networks.find((known) => known.bits === cidr.bits)
    if (network === undefined) {
      network = { bits: cidr.bits, byPrefix: new Map() }
      networks.push(network)
      networks.sort((a, b) => b.bits - a.bits)
    }
    const key = prefixOf(cidr, cidr.bits)
    const known = network.byPrefix.get(key)
    if (known !== undefined) return known
    const made = make()
    network.byPrefix.set(key, made)
    return made
  }

  *values(): IterableIterator<T> {
    for (const { byPrefix } of [...this.#networks[4], ...this.#networks[6]])
      yield* byPrefix.values()
  }

  /** What every network that holds the address maps to, longest prefix first. */
  *matches(address: IpAddress): IterableIterator<T> {
    for (const { bits, byPrefix } of this.#networks[address.version]) {
      const found = byPrefix.get(prefixOf(address, bits))
      if (found !== undefined) yield found
    }
  }
}

function prefixOf(address: IpAddress, bits: number): number | string {
  const words = maskWords(address.words, bits)
  return address.version === 4 ? words[0]! : words.join()
}
