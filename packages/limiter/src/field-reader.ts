/** Reads the fields of one object of a rules document, and notes every fault with its path. */
import { didYouMean, type Fault, list, quote } from './faults.js'

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export class FieldReader {
  readonly #fields: Fields
  readonly #path: string
  readonly #faults: Fault[]

  constructor(fields: Fields, path: string, faults: Fault[]) {
    this.#fields = fields
    this.#path = path
    this.#faults = faults
  }

  /** A reader of an object, or undefined after noting that it is none. */
  static of(value: unknown, path: string, what: string, faults: Fault[]): FieldReader | undefined {
    if (isFields(value)) return new FieldReader(value, path, faults)
    faults.push({ path, message: `${quote(value)} is not ${what}` })
    return undefined
  }

  fault(field: string, message: string, hint?: string): undefined {
    const path = this.pathOf(field)
    this.#faults.push(hint === undefined ? { path, message } : { path, message, hint })
  }

  /** Notes a fault of something inside this object that has a path of its own. */
  faultAt(path: string, message: string): void {
    this.#faults.push({ path, message })
  }

  note(fault: Fault): void {
    this.#faults.push(fault)
  }

  child(value: unknown, path: string, what: string): FieldReader | undefined {
    return FieldReader.of(value, path, what, this.#faults)
  }

  pathOf(field: string): string {
    if (field === '') return this.#path
    return this.#path === '' ? field : `${this.#path}.${field}`
  }

  has(field: string): boolean {
    return this.get(field) !== undefined
  }

  get(field: string): unknown {
    return Object.hasOwn(this.#fields, field) ? this.#fields[field] : undefined
  }

  refuseUnknown(known: readonly string[]): void {
    for (const field of Object.keys(this.#fields)) {
      if (!known.includes(field))
        this.fault('', `unknown field ${quote(field)}${didYouMean(field, known)}`)
    }
  }

  text(field: string): string | undefined {
    const value = this.get(field)
    if (value === undefined || typeof value === 'string') return value
    return this.fault(field, `${quote(value)} is not a text`)
  }

  flag(field: string): boolean {
    const value = this.get(field)
    if (value === undefined || typeof value === 'boolean') return value ?? false
    this.fault(field, `${quote(value)} is not true or false`)
    return false
  }

  oneOf<const T extends string>(field: string, words: readonly T[]): T | undefined {
    const value = this.get(field)
    if (value === undefined) return undefined
    const word = words.find((known) => known === value)
    if (word !== undefined) return word
    const near = typeof value === 'string' ? didYouMean(value, words) : ''
    return this.fault(field, `unknown ${field} ${quote(value)}; expected ${list(words)}${near}`)
  }
}
