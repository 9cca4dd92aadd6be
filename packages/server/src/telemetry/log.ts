/** What happens, a line each: words on a terminal, else JSON. Never a line per request, never a secret. */
import { styleText } from 'node:util'

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

/** Everything a line may have besides its time, level and message. */
export interface Fields {
  readonly code?: string
  readonly namespace?: string
  readonly rule?: string
  readonly scope?: string
  readonly subject?: string
  readonly count?: number
  readonly revision?: number
  readonly instance?: string
  readonly trace_id?: string
  readonly error?: string
  readonly [field: string]: string | number | boolean | undefined
}

export interface LogOptions {
  readonly level?: Level
  /** For people; else JSON. */
  readonly isTerminal?: boolean
  readonly color?: boolean
  /** In every line of JSON. */
  readonly instance?: string
  readonly write: (line: string) => void
  readonly now?: () => Date
}

const STYLES = { debug: 'dim', info: 'cyan', warn: 'yellow', error: 'red' } as const

/**
 * Nothing in a line may pass for another line or for a terminal's commands, turn the text around, or be there
 * without being seen: `admin` with an invisible character is another name.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

function printable(text: string): string {
  return text.replace(UNPRINTABLE, (c) =>
    Array.from({ length: c.length }, (_, i) => c.charCodeAt(i))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

export class Log {
  readonly #options: LogOptions
  readonly #least: number

  constructor(options: LogOptions) {
    this.#options = options
    this.#least = LEVELS.indexOf(options.level ?? 'info')
  }

  debug(msg: string, fields?: Fields): void {
    this.#write('debug', msg, fields)
  }

  info(msg: string, fields?: Fields): void {
    this.#write('info', msg, fields)
  }

  warn(msg: string, fields?: Fields): void {
    this.#write('warn', msg, fields)
  }

  error(msg: string, fields?: Fields): void {
    this.#write('error', msg, fields)
  }

  #write(level: Level, msg: string, fields: Fields = {}): void {
    if (LEVELS.indexOf(level) < this.#least) return
    const { write, isTerminal = false, instance, now = () => new Date() } = this.#options
    const time = now().toISOString()
    if (isTerminal) write(`${this.#words(time, level, msg, fields)}\n`)
    // Such characters stand only in texts, where JSON may have them escaped.
    else write(`${printable(JSON.stringify({ time, level, msg, ...fields, instance }))}\n`)
  }

  #words(time: string, level: Level, msg: string, fields: Fields): string {
    const { color = false } = this.#options
    const paint = color ? styleText(STYLES[level], level.padEnd(5)) : level.padEnd(5)
    const shown = Object.entries(fields).filter(([, value]) => value !== undefined)
    const rest = shown.map(([name, value]) => ` ${name}=${printable(String(value))}`).join('')
    return `${time.slice(11, 19)} ${paint} ${printable(msg)}${rest}`
  }
}
