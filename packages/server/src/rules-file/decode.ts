/** A file's bytes as text; what is no UTF-8 is a fault like any other. */
import type { BadRules } from './read-rules.js'

export function decode(bytes: Uint8Array): string | BadRules {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const fault = { path: '', line: 1, column: 1, length: 0, message: 'the file is not UTF-8 text' }
    return { faults: [fault] }
  }
}
