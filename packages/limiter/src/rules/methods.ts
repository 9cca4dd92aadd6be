/** The methods of a rule or a cost: stated beside the resource, or before it (`GET|HEAD /x`). */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { METHOD } from './words.js'

/** `GET /x` is a method and a resource; null: no method is stated. */
export function splitMethods(text: string): { methods: string[] | null; resource: string } {
  if (text.startsWith('/')) return { methods: null, resource: text }
  const match = /^([A-Z][A-Z|-]*) +(\S.*)$/.exec(text)
  if (match === null) return { methods: null, resource: text }
  return { methods: match[1]!.split('|'), resource: match[2]! }
}

/** Upper case, sorted, each once; null stays null: all methods. */
export function sortedMethods(methods: readonly string[] | null): string[] | null {
  return methods === null ? null : [...new Set(methods.map((m) => m.toUpperCase()))].sort()
}

/** The methods that a rule states in `methods` or in `resource`, but not in both. */
export function readMethods(reader: FieldReader): string[] | null {
  const resource = reader.get('resource')
  const inResource = typeof resource === 'string' ? splitMethods(resource).methods : null
  const stated = reader.get('methods')
  const methods = stated === undefined ? inResource : readList(reader, stated, inResource !== null)
  const field = stated === undefined ? 'resource' : 'methods'
  for (const method of methods ?? [])
    if (!METHOD.test(method)) reader.fault(field, `${quote(method)} is not a method`)
  return sortedMethods(methods)
}

function readList(reader: FieldReader, stated: unknown, isTwice: boolean): string[] {
  if (isTwice)
    reader.fault('methods', 'the resource names methods already; write them in one place')
  const list: unknown[] = Array.isArray(stated) ? stated : [stated]
  for (const other of list.filter((method) => typeof method !== 'string'))
    reader.fault('methods', `${quote(other)} is not a method`)
  if (list.length === 0) reader.fault('methods', 'is empty; leave it out for all methods')
  return list.filter((method) => typeof method === 'string')
}
