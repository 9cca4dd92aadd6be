/** Addresses and networks against what Node itself makes of them. */
import { BlockList, isIP } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cidr, isPlainIpv4, maskWords, parseCidr, parseIp, printIp } from './ip-address.js'

const canonical = (text: string) => {
  const address = parseIp(text)
  return address === undefined ? undefined : printIp(address)
}

/** Addresses with many zeros and ones, and of few kinds, so that they meet. */
const octets = fc.oneof(fc.constantFrom(0, 1, 10, 127, 128, 192, 255), fc.nat(255))
const ipv4s = fc.tuple(octets, octets, octets, octets).map((parts) => parts.join('.'))
const groups = fc.oneof(fc.constantFrom(0, 0, 0, 1, 0xdb8, 0x2001, 0xffff), fc.nat(0xffff))
const ipv6s = fc
  .array(groups, { minLength: 8, maxLength: 8 })
  .filter((all) => all[5] !== 0xffff || all.slice(0, 5).some((group) => group !== 0))
  .map((all) => all.map((group) => group.toString(16)).join(':'))

function cidrOf(text: string): Cidr {
  const cidr = parseCidr(text)
  if (cidr === undefined || 'hint' in cidr) throw new Error(`${text} is no network`)
  return cidr
}

describe('an address', () => {
  it.each([
    ['203.0.113.42', '203.0.113.42'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:DB8:0:0:8:800:200C:417A', '2001:db8::8:800:200c:417a'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:192.0.2.128', '192.0.2.128'],
    ['::FFFF:c000:280', '192.0.2.128'],
    ['0:0:0:0:0:ffff:10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1%2', '10.0.0.1'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['::192.0.2.33', '::c000:221'],
  ])('%s is %s', (text, printed) => {
    expect(canonical(text)).toBe(printed)
  })

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.04',
    '1.2.3.4 ',
    '1.2.3.4%eth0',
    '0x7f.1',
    '2130706433',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '12345::',
    '::g',
    '::1.2.3.4:5',
    '1.2.3.4::',
    '::1.2.3',
    '[::1]',
    '::1/64',
    'fe80::1%',
    '1.2.3.4:80',
    'localhost',
    `::1%${'x'.repeat(1000)}`,
  ])('is not %j', (text) => {
    expect(parseIp(text)).toBeUndefined()
  })

  it('is what Node takes for one', () => {
    const near = fc
      .array(fc.constantFrom('0', '1', '25', 'f', 'fffff', ':', '::', '.', '1.2.3.4', 'g', ' '), {
        maxLength: 18,
      })
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.oneof(near, ipv4s, ipv6s, fc.string({ unit: 'binary' })), (text) => {
        fc.pre(!text.includes('%'))
        expect(parseIp(text) !== undefined, text).toBe(isIP(text) !== 0)
        expect(isPlainIpv4(text), text).toBe(isIP(text) === 4)
      }),
      { numRuns: 2500 },
    )
  })

  it('prints in its one form, from which it is read again', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4s, ipv6s), (text) => {
        const address = parseIp(text)!
        const printed = printIp(address)
        expect(parseIp(printed)).toEqual(address)
        const host = isIP(text) === 6 ? `[${text}]` : text
        expect(isIP(text) === 6 ? `[${printed}]` : printed).toBe(
          new URL(`http://${host}/`).hostname,
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('of IPv4 mapped into IPv6 is that of IPv4', () => {
    fc.assert(
      fc.property(ipv4s, (text) => {
        expect(parseIp(`::ffff:${text}`)).toEqual(parseIp(text))
        expect(parseIp(`0:0:0:0:0:FFFF:${text}%en0`)).toEqual(parseIp(text))
      }),
    )
  })
})

describe('a network', () => {
  it('is an address with the bits that count, or a single address', () => {
    expect(cidrOf('10.0.0.0/8')).toEqual({ ...parseIp('10.0.0.0'), bits: 8 })
    expect(cidrOf('0.0.0.0/0')).toEqual({ ...parseIp('0.0.0.0'), bits: 0 })
    expect(cidrOf('10.0.0.1')).toEqual({ ...parseIp('10.0.0.1'), bits: 32 })
    expect(cidrOf('2001:db8::/32')).toEqual({ ...parseIp('2001:db8::'), bits: 32 })
    expect(cidrOf('::1')).toEqual({ ...parseIp('::1'), bits: 128 })
    expect(cidrOf('::ffff:10.0.0.0/104')).toEqual(cidrOf('10.0.0.0/8'))
    expect(cidrOf('::ffff:0:0/96')).toEqual(cidrOf('0.0.0.0/0'))
  })

  it('is refused with the network that was meant, where bits after the prefix are set', () => {
    expect(parseCidr('10.1.2.3/8')).toEqual({ hint: '10.0.0.0/8 is the network of that address' })
    expect(parseCidr('2001:db8::1/64')).toEqual({
      hint: '2001:db8::/64 is the network of that address',
    })
    expect(parseCidr('10.0.0.0/33')).toEqual({ hint: 'a prefix from 0 to 32' })
    expect(parseCidr('::/129')).toEqual({ hint: 'a prefix from 0 to 128' })
  })

  it.each(['', '/', '/8', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/-1', '10.0.0.0/8/8', '10/8', 'a/8'])(
    'is not %j',
    (text) => {
      expect(parseCidr(text)).toBeUndefined()
    },
  )

  it('holds the addresses that Node says it holds', () => {
    const cases = fc.oneof(
      fc.tuple(ipv4s, ipv4s, fc.nat(32), fc.constant('ipv4' as const)),
      fc.tuple(ipv6s, ipv6s, fc.nat(128), fc.constant('ipv6' as const)),
    )
    fc.assert(
      fc.property(cases, fc.boolean(), ([network, other, bits, family], near) => {
        const words = maskWords(parseIp(network)!.words, bits)
        const version = family === 'ipv4' ? 4 : 6
        const text = printIp({ version, words })
        expect(cidrOf(`${text}/${bits}`)).toEqual({ version, words, bits })
        const address = near ? network : other
        const blocks = new BlockList()
        blocks.addSubnet(text, bits, family)
        const holds = maskWords(parseIp(address)!.words, bits).join() === words.join()
        expect(holds).toBe(blocks.check(address, family))
      }),
      { numRuns: 3000 },
    )
  })

  it('of any text is one, a hint, or nothing', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.tuple(ipv6s, fc.nat(999)).map((p) => p.join('/')),
        ),
        (text) => {
          const cidr = parseCidr(text)
          if (cidr !== undefined && 'bits' in cidr)
            expect(cidrOf(`${printIp(cidr)}/${cidr.bits}`)).toEqual(cidr)
        },
      ),
    )
  })
})
