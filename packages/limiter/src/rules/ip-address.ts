/**
 * IPv4 and IPv6 addresses and CIDRs, as four 32-bit words. An IPv4-mapped IPv6 address is that IPv4
 * address. Zone ids (`%eth0`) are dropped. Leading zeros in IPv4 are refused: some read them as octal.
 */

export interface IpAddress {
  readonly version: 4 | 6
  /** One word for IPv4, four for IPv6, most significant first. */
  readonly words: readonly number[]
}

export interface Cidr extends IpAddress {
  readonly bits: number
}

const LONGEST = 64

/** A canonical dotted quad, the common case, without allocating. */
export function isPlainIpv4(text: string): boolean {
  const length = text.length
  if (length < 7 || length > 15) return false
  let dots = 0
  let number = -1
  for (let i = 0; i < length; i++) {
    const c = text.charCodeAt(i)
    if (c === 46) {
      if (number < 0) return false
      dots++
      number = -1
    } else if (c >= 48 && c <= 57) {
      if (number === 0) return false
      number = number < 0 ? c - 48 : number * 10 + c - 48
      if (number > 255) return false
    } else return false
  }
  return dots === 3 && number >= 0
}

/** The word of a canonical dotted quad. */
function ipv4Word(text: string): number {
  let word = 0
  let number = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === 46) {
      word = (word << 8) | number
      number = 0
    } else number = number * 10 + c - 48
  }
  return (word << 8) | number
}

export function parseIp(text: string): IpAddress | undefined {
  if (isPlainIpv4(text)) return { version: 4, words: [ipv4Word(text)] }
  if (text.length > LONGEST) return undefined
  const address = /^([0-9a-fA-F:.]+)(?:%[0-9a-zA-Z_.-]+)?$/.exec(text)?.[1]
  if (address === undefined || !address.includes(':')) return undefined
  const groups = ipv6Groups(address)
  if (groups === undefined) return undefined
  const words = [0, 2, 4, 6].map((i) => (groups[i]! << 16) | groups[i + 1]!)
  if (words[0] === 0 && words[1] === 0 && words[2] === 0xffff)
    return { version: 4, words: [words[3]!] }
  return { version: 6, words }
}

function ipv6Groups(address: string): number[] | undefined {
  const halves = address.split('::')
  if (halves.length > 2) return undefined
  const before = readGroups(halves[0]!, halves.length === 1)
  const after = halves.length === 2 ? readGroups(halves[1]!, true) : []
  if (before === undefined || after === undefined) return undefined
  const missing = 8 - before.length - after.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...before, ...new Array<number>(missing).fill(0), ...after]
}

/** Groups of 16 bits; the last may be a dotted quad where the address ends. */
function readGroups(text: string, atEnd: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [i, part] of parts.entries()) {
    if (atEnd && i === parts.length - 1 && isPlainIpv4(part)) {
      const word = ipv4Word(part)
      groups.push(word >>> 16, word & 0xffff)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

/** `10.0.0.0/8`, `2001:db8::/32`, or a single address. Bits after the prefix must be zero. */
export function parseCidr(text: string): Cidr | { hint: string } | undefined {
  const match = /^([^/]+)(?:\/([0-9]{1,3}))?$/.exec(text)
  const address = match === null ? undefined : parseIp(match[1]!)
  if (address === undefined) return undefined
  const mapped = address.version === 4 && match![1]!.includes(':')
  const most = address.version === 4 ? 32 : 128
  const bits = match![2] === undefined ? most : Number(match![2]) - (mapped ? 96 : 0)
  if (bits < 0 || bits > most) return { hint: `a prefix from 0 to ${most}` }
  const words = maskWords(address.words, bits)
  if (words.some((word, i) => word !== address.words[i]))
    return { hint: `${printIp({ ...address, words })}/${bits} is the network of that address` }
  return { ...address, bits }
}

export function maskWords(words: readonly number[], bits: number): number[] {
  return words.map((word, i) => {
    const left = bits - 32 * i
    if (left >= 32) return word
    return left <= 0 ? 0 : word & (-1 << (32 - left))
  })
}

/** The canonical text (RFC 5952). */
export function printIp(address: IpAddress): string {
  if (address.version === 4) {
    const word = address.words[0]!
    return [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255].join('.')
  }
  const groups = address.words.flatMap((word) => [word >>> 16, word & 0xffff])
  let best = { start: 0, length: 1 }
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && groups[end] === 0) end++
    if (end - i > best.length) best = { start: i, length: end - i }
  }
  const hex = groups.map((group) => group.toString(16))
  if (best.length === 1) return hex.join(':')
  const tail = hex.slice(best.start + best.length)
  return `${hex.slice(0, best.start).join(':')}::${tail.join(':')}`
}

/** `10.0.0.0/8` */
export function printCidr(cidr: Cidr): string {
  return `${printIp(cidr)}/${cidr.bits}`
}
