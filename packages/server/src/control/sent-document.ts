/**
 * A rules document as it was sent: its bytes, read with limits. Pure, so that a thread can do it for a
 * large one. How deep it is nested is found before it is parsed.
 */
import type { RulesDocument } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'
import { boundExceeded } from '../nesting.js'

export interface SentDocument {
  readonly bytes: Uint8Array
  readonly deepest: number
}

/** Why it is not a document at all. */
export interface Unreadable {
  readonly unreadable: string
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseDocument({ bytes, deepest }: SentDocument): RulesDocument | Unreadable {
  if (boundExceeded(bytes, { deepest, mostValues: Number.POSITIVE_INFINITY }) !== null)
    return {
      unreadable: `the document is nested more than ${deepest} deep; --document-depth allows more`,
    }
  let document: unknown
  try {
    document = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof TypeError) return { unreadable: 'the body is not UTF-8' }
    const why = error instanceof Error ? error.message : String(error)
    return { unreadable: `the body is not JSON: ${quote(why).slice(1, -1)}` }
  }
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document
  const what = Array.isArray(document) ? 'a list' : quote(document)
  return { unreadable: `the body is ${what}; expected an object` }
}
