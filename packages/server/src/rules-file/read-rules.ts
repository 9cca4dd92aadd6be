/** A rules file, read: the rules, or everything that is wrong with it, each fault at its place. */
import { RuleSet, type RulesDocument, SluiceError } from '@sluice/limiter'
import { type Document, parseDocument } from 'yaml'
import { FaultPlaces } from './fault-places.js'
import { type PlacedFault, placeFaults, type SpanFault } from './placed-fault.js'
import { yamlFaults } from './yaml-faults.js'
import { YamlValue } from './yaml-value.js'

/** Of the text, in characters. */
const LONGEST = 32 * 1024 * 1024

export interface GoodRules {
  readonly rules: RuleSet
  /** What was accepted but does nothing yet. */
  readonly warnings: readonly string[]
}

export interface BadRules {
  readonly faults: readonly PlacedFault[]
}

export type RulesRead = GoodRules | BadRules

/** All at once, on this thread; `loadRules` is for files that may be large. */
export function readRules(text: string): RulesRead {
  const bare = withoutMark(text)
  if (bare.length > LONGEST) return whole(`a file of ${bare.length} characters; at most ${LONGEST}`)
  const document = parseYaml(bare)
  const faults = yamlFaults(bare, document)
  if (faults.length > 0) return { faults: placeFaults(bare, faults) }
  if (document.contents === null)
    return whole('the file is empty', 'rules by name, such as rules: { all: … }')
  const { value, faults: oddities } = new YamlValue(document, bare.length)
  const refused = compile(value)
  if (refused instanceof RuleSet && oddities.length === 0)
    return { rules: refused, warnings: refused.warnings }
  const places = new FaultPlaces(bare, document)
  const found = refused instanceof RuleSet ? [] : refused.map((fault) => places.place(fault))
  return { faults: placeFaults(bare, [...oddities, ...unlessEchoed(found, oddities)]) }
}

export function parseYaml(text: string): Document {
  return parseDocument(text, {
    version: '1.2',
    schema: 'core',
    // Compares every name with every other; YamlValue sees those that are written twice.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  })
}

/** A byte order mark is no part of the text. */
export function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function compile(value: unknown): RuleSet | SluiceError['faults'] {
  try {
    return RuleSet.compile(value as RulesDocument)
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'invalid_rules') return error.faults
    throw error
  }
}

/** What was refused as YAML is not refused again for what it became. */
function unlessEchoed(found: SpanFault[], oddities: readonly SpanFault[]): SpanFault[] {
  const starts = new Set(oddities.map(({ start }) => start))
  return found.filter(({ start }) => !starts.has(start))
}

function whole(message: string, expected?: string): BadRules {
  const fault = { path: '', line: 1, column: 1, length: 0, message }
  return { faults: [expected === undefined ? fault : { ...fault, expected }] }
}
