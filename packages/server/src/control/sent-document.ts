/**
 * A rules document as it was sent: its bytes, read with limits. Pure, so that a thread can do it for a
 * large one. How deep it is nested is found before it is parsed: what is parsed takes many times its bytes.
 */
import type { RulesDocument } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'

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
  if (isNestedDeeper(bytes, deepest))
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

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const OPENING = new Set([0x5b, 0x7b])
const CLOSING = new Set([0x5d, 0x7d])

/** Whether lists and objects of this JSON are more than so many within each other. */
export function isNestedDeeper(bytes: Uint8Array, most: number): boolean {
  let depth = 0
  let isText = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (isText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (OPENING.has(byte)) {
      if (++depth > most) return true
    } else if (CLOSING.has(byte)) depth--
  }
  return false
}
