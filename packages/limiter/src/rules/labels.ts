/** The labels of a rule, by which it is found. */
import { quote } from '../faults.js'
import type { FieldReader } from '../field-reader.js'
import { lengthOf, lineFault } from './words.js'

export type Labels = Readonly<Record<string, string>>

export const MOST_LABELS = 16
export const LONGEST_LABEL = 63
/** Without a colon, which ends it in `team:search`. */
export const LABEL_KEY = /^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$/

/** In the order of their keys. */
export function readLabels(reader: FieldReader): Labels {
  const entries = reader.entries('labels', 'labels such as { team: search }') ?? []
  if (entries.length > MOST_LABELS)
    reader.fault('labels', `has ${entries.length} labels; at most ${MOST_LABELS}`)
  const labels: Record<string, string> = {}
  for (const [key, value] of entries.slice(0, MOST_LABELS)) {
    if (!LABEL_KEY.test(key)) reader.fault('labels', keyFault(key))
    else {
      const fault = valueFault(value)
      if (fault === undefined) labels[key] = value as string
      else reader.fault(`labels.${key}`, fault)
    }
  }
  return Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function keyFault(key: string): string {
  return `${quote(key)} is not the key of a label: A-Z, a-z or 0-9 first, then those and _ . - /, at most ${LONGEST_LABEL}`
}

function valueFault(value: unknown): string | undefined {
  if (typeof value !== 'string') return `${quote(value)} is not a text`
  if (value === '' || lengthOf(value) > LONGEST_LABEL)
    return `${quote(value)} is not a text of 1 to ${LONGEST_LABEL} characters`
  return lineFault(value)
}

/** Whether a rule has a label: `team:search`, or `team` with any value. */
export function hasLabel(labels: Labels, wanted: string): boolean {
  const [key, value] = splitLabel(wanted)
  return Object.hasOwn(labels, key) && (value === null || labels[key] === value)
}

/** The key, and the value unless any will do. */
export function splitLabel(label: string): [key: string, value: string | null] {
  const colon = label.indexOf(':')
  return colon < 0 ? [label, null] : [label.slice(0, colon), label.slice(colon + 1)]
}
