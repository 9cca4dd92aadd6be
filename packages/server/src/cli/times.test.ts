import { describe, expect, it } from 'vitest'
import { printTime, readSince, readUntil } from './times.js'

const NOW = Date.parse('2026-01-16T10:02:30.000Z')
const iso = (ms: number) => new Date(ms).toISOString()

describe('a time to come', () => {
  it('is a duration from now or a time', () => {
    expect(readUntil('--until', '2h', NOW)).toBe('2026-01-16T12:02:30.000Z')
    expect(readUntil('--until', '90s', NOW)).toBe('2026-01-16T10:04:00.000Z')
    expect(readUntil('--until', '15min', NOW)).toBe('2026-01-16T10:17:30.000Z')
    expect(readUntil('--until', '7d', NOW)).toBe('2026-01-23T10:02:30.000Z')
    expect(readUntil('--until', '1w', NOW)).toBe('2026-01-23T10:02:30.000Z')
    expect(readUntil('--until', '2026-02-01T00:00:00+01:00', NOW)).toBe('2026-01-31T23:00:00.000Z')
  })

  it.each(['', 'soon', '2', '2y', '-2h', '2026-99-99'])('is not %j', (text) => {
    expect(() => readUntil('--until', text, NOW)).toThrow('--until is')
  })

  it('is not over', () => {
    expect(() => readUntil('--until', '0s', NOW)).toThrow('which is over')
    expect(() => readUntil('--until', '2026-01-16T10:02:30Z', NOW)).toThrow('which is over')
  })
})

describe('a time that was', () => {
  it('is a duration ago, the last time of the day, or a time', () => {
    expect(readSince('--from', '2h', NOW)).toBe('2026-01-16T08:02:30.000Z')
    expect(readSince('--from', '2026-01-16', NOW)).toBe('2026-01-16T00:00:00.000Z')
    const earlier = new Date(NOW - 60_000)
    const clock = (time: Date) =>
      [time.getHours(), time.getMinutes(), time.getSeconds()]
        .map((part) => String(part).padStart(2, '0'))
        .join(':')
    expect(readSince('--from', clock(earlier), NOW)).toBe(iso(NOW - 60_000))
    expect(readSince('--from', clock(new Date(NOW + 60_000)), NOW)).toBe(iso(NOW - 86_340_000))
  })

  it.each(['', '25:00', '10:60', 'then'])('is not %j', (text) => {
    expect(() => readSince('--from', text, NOW)).toThrow('--from is')
  })
})

describe('a time for people', () => {
  it.each([
    [0, '0 s ago'],
    [-59_000, '59 s ago'],
    [-61_000, '1 min ago'],
    [-7_300_000, '2 h ago'],
    [5_400_000, 'in 1 h'],
    [-90_000_000, '2026-01-15T09:02:30Z'],
  ])('is relative within a day: %i ms', (distance, words) => {
    expect(printTime(iso(NOW + distance), NOW)).toBe(words)
  })

  it('is what it is where it is none', () => {
    expect(printTime('x', NOW)).toBe('x')
    expect(printTime(null, NOW)).toBe('-')
  })
})
