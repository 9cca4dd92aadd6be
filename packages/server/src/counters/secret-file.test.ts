import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { secretOf } from './secret-file.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-secret-'))
const path = join(folder, 'secret')

function open() {
  const codes: unknown[] = []
  const secret = secretOf(folder, { error: (_msg, fields) => codes.push(fields?.code) })
  return { secret: Buffer.from(secret), codes }
}

it('is the same at every start', () => {
  const { secret, codes } = open()
  expect(secret).toHaveLength(16)
  expect(open()).toEqual({ secret, codes })
  expect(codes).toEqual([])
})

it('is replaced and said where any bit was flipped, or the file was cut short', () => {
  const { secret } = open()
  const content = readFileSync(path)
  const damaged = Array.from({ length: content.length * 8 }, (_, bit) => {
    const copy = Buffer.from(content)
    copy[bit >> 3]! ^= 1 << (bit & 7)
    return copy
  })
  for (const length of [0, 1, 15]) damaged.push(content.subarray(0, length))
  for (const file of damaged) {
    writeFileSync(path, file)
    const opened = open()
    expect(opened.codes).toEqual(['secret_damaged'])
    expect(opened.secret).not.toEqual(secret)
    expect(open()).toEqual({ secret: opened.secret, codes: [] })
  }
})

it('without a checksum is accepted and given one', () => {
  const secret = Buffer.alloc(16, 7)
  rmSync(`${path}.sum`, { force: true })
  writeFileSync(path, secret)
  expect(open()).toEqual({ secret, codes: [] })
  expect(readFileSync(path)).toEqual(secret)
  writeFileSync(path, Buffer.alloc(16, 8))
  expect(open().codes).toEqual(['secret_damaged'])
})

it('of another length is replaced, also where it has no checksum', () => {
  rmSync(`${path}.sum`, { force: true })
  writeFileSync(path, Buffer.alloc(15, 7))
  const { secret, codes } = open()
  expect([secret.length, codes]).toEqual([16, ['secret_damaged']])
})
