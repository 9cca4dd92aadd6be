/** Values by network against a look at every network. */
import { BlockList, isIPv4 } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CidrMap } from './cidr-map.js'
import { type Cidr, maskWords, parseCidr, parseIp, printIp } from './ip-address.js'

const few = fc.constantFrom(0, 1, 2, 3, 128, 255)
const ipv4s = fc.tuple(fc.constantFrom(10, 192), few, few, few).map((parts) => parts.join('.'))
const ipv6s = fc
  .tuple(few, few, few, few)
  .map((parts) => `2001:${parts.map((part) => part.toString(16)).join(':')}::1`)
const addresses = fc.oneof(ipv4s, ipv6s)
const networks = fc.record({ address: addresses, part: fc.double({ min: 0, max: 1, noNaN: true }) })

function networkOf({ address, part }: { address: string; part: number }): string {
  const { version, words } = parseIp(address)!
  const bits = Math.round(part * (version === 4 ? 32 : 128))
  return `${printIp({ version, words: maskWords(words, bits) })}/${bits}`
}

function holds(network: string, address: string): boolean {
  const [start, bits] = network.split('/') as [string, string]
  if (isIPv4(start) !== isIPv4(address)) return false
  const family = isIPv4(start) ? 'ipv4' : 'ipv6'
  const blocks = new BlockList()
  blocks.addSubnet(start, Number(bits), family)
  return blocks.check(address, family)
}

describe('values by network', () => {
  it('are found for every network that holds an address, longest prefix first', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(networks.map(networkOf), { maxLength: 30 }),
        fc.array(addresses, { minLength: 1, maxLength: 6 }),
        (networks, addresses) => {
          const map = new CidrMap<string>()
          for (const network of networks) map.getOrAdd(parseCidr(network) as Cidr, () => network)
          const bitsOf = (network: string) => Number(network.split('/')[1])
          for (const address of addresses) {
            const expected = networks.filter((network) => holds(network, address))
            expected.sort((a, b) => bitsOf(b) - bitsOf(a))
            expect([...map.matches(parseIp(address)!)]).toEqual(expected)
          }
          expect([...map.values()].sort()).toEqual([...networks].sort())
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are made once for a network', () => {
    const map = new CidrMap<object>()
    expect(map.isEmpty).toBe(true)
    const first = map.getOrAdd(parseCidr('10.0.0.0/8') as Cidr, () => ({}))
    expect(map.getOrAdd(parseCidr('::ffff:10.0.0.0/104') as Cidr, () => ({}))).toBe(first)
    expect(map.getOrAdd(parseCidr('10.0.0.0/9') as Cidr, () => ({}))).not.toBe(first)
    expect(map.isEmpty).toBe(false)
  })

  it('keep IPv4 and IPv6 apart', () => {
    const map = new CidrMap<string>()
    map.getOrAdd(parseCidr('::/0') as Cidr, () => 'six')
    expect([...map.matches(parseIp('10.0.0.1')!)]).toEqual([])
    expect([...map.matches(parseIp('::ffff:10.0.0.1')!)]).toEqual([])
    expect([...map.matches(parseIp('::1')!)]).toEqual(['six'])
  })
})
