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

  fault(field: string, message: string, more: Pick<Fault, 'expected' | 'hint'> = {}): undefined {
    this.#faults.push({ path: this.pathOf(field), message, ...more })
  }

  note(fault: Fault): undefined {
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

  /** The names of all fields, known or not. */
  names(): string[] {
    return Object.keys(this.#fields)
  }

  /** A reader of a field that is an object; undefined where there is none, or after noting that it is none. */
  object(field: string, what: string, known?: readonly string[]): FieldReader | undefined {
    const value = this.get(field)
    const child = value === undefined ? undefined : this.child(value, this.pathOf(field), what)
    if (known !== undefined) child?.refuseUnknown(known, field)
    return child
  }

  /** The items of a list, each with its path; none after noting that it is no list. */
  list(value: unknown, path: string, what: string): [string, unknown][] {
    if (value === undefined) return []
    if (Array.isArray(value)) return value.map((item, i) => [`${path}[${i}]`, item])
    this.note({ path, message: `${quote(value)} is not a list of ${what}` })
    return []
  }

  /** The entries of a field that is an object, such as limits by tier; undefined after noting that it is none. */
  entries(field: string, what: string): [string, unknown][] | undefined {
    const value = this.get(field)
    if (value === undefined) return undefined
    const child = this.child(value, this.pathOf(field), what)
    return child === undefined ? undefined : Object.entries(value as Fields)
  }

  /** `where` names the object for the fault's words; the document itself needs no name. */
  refuseUnknown(known: readonly string[], where = ''): void {
    const place = where === '' ? '' : ` in ${where}`
    for (const key of Object.keys(this.#fields)) {
      if (known.includes(key)) continue
      const message = `unknown field ${quote(key)}${place}${didYouMean(key, known)}`
      this.#faults.push({ path: this.#path, message, key })
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
    const expected = `${list(words)}${near}`
    return this.fault(field, `unknown ${field} ${quote(value)}`, { expected })
  }
}
