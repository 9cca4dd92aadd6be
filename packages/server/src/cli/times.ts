/** Times as people write and read them: `2h`, `10:02`, `2026-01-16T10:02:00Z`; `3 min ago`, `in 2 h`. */
import { DAY_MS, quote } from '@sluice/limiter/transport'
import { UsageError } from '../config.js'

const SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  min: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
}
const DURATION = /^(\d{1,6})(s|m|min|h|d|w)$/
const CLOCK = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/

/** A time to come; a duration is from now. */
export function readUntil(name: string, text: string, now: number): string {
  const ms = durationMs(text)
  const time = ms === null ? readIso(text) : now + ms
  if (time === null)
    throw new UsageError(
      `${name} is ${quote(text)}; expected a time such as 2026-12-31T18:00:00Z, or 2h, 7d from now`,
    )
  if (time <= now) throw new UsageError(`${name} is ${quote(text)}, which is over`)
  return new Date(time).toISOString()
}

/** A time that was; a duration is before now, a time of day the last one. */
export function readSince(name: string, text: string, now: number): string {
  const ms = durationMs(text)
  const time = ms === null ? (clockTime(text, now) ?? readIso(text)) : now - ms
  if (time !== null) return new Date(time).toISOString()
  throw new UsageError(
    `${name} is ${quote(text)}; expected a time such as 10:02 or 2026-01-16T10:02:00Z, or 2h, 7d ago`,
  )
}

function durationMs(text: string): number | null {
  const match = DURATION.exec(text)
  return match === null ? null : Number(match[1]) * SECONDS[match[2]!]! * 1000
}

function readIso(text: string): number | null {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? null : time
}

/** Of today, by this machine's zone, or of yesterday where that is still to come. */
function clockTime(text: string, now: number): number | null {
  const match = CLOCK.exec(text)
  if (match === null) return null
  const [hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0))
  if (hours! > 23 || minutes! > 59 || seconds! > 59) return null
  const time = new Date(now).setHours(hours!, minutes, seconds, 0)
  return time > now ? time - DAY_MS : time
}

/** Relative within a day, else the time itself; what is no time stays as it is. */
export function printTime(iso: unknown, now: number): string {
  if (typeof iso !== 'string') return '-'
  const time = Date.parse(iso)
  if (Number.isNaN(time)) return iso
  const distance = Math.abs(time - now)
  if (distance >= DAY_MS) return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')
  const words = printDistance(distance)
  return time > now ? `in ${words}` : `${words} ago`
}

function printDistance(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h`
}
