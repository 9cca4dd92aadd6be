/** Rules files and a server's rules, each as one document: what `plan`, `diff`, `apply` and `export` move. */
import { inSlices, type RulesDocument } from '@sluice/limiter'
import { DOCUMENT_PARTS } from '@sluice/limiter/transport'
import { stringify } from 'yaml'
import { UsageError } from '../config.js'
import { contentOf } from '../control/content.js'
import { documentOf } from '../control/print-document.js'
import { formatRules } from '../rules-file/format-rules.js'
import { parseYaml, readRules, withoutMark } from '../rules-file/read-rules.js'
import { YamlValue } from '../rules-file/yaml-value.js'
import { CommandError, EXIT } from './exit-codes.js'
import type { Globals } from './globals.js'
import type { AnswerOf } from './operation.js'
import { readSource, rulesSources } from './rules-files.js'
import { Refusal, type ServerClient } from './server-client.js'
import type { Terminal } from './terminal.js'

export interface FileDocument {
  /** For people. */
  readonly name: string
  readonly document: RulesDocument
  /** Which one is meant; undefined: the token's, or the standard one. */
  readonly namespace: string | undefined
}

/** A file that is good, as it was written. */
export async function readDocument(
  file: string | undefined,
  globals: Globals,
  terminal: Terminal,
): Promise<FileDocument> {
  const [source] = await rulesSources(file === undefined ? [] : [file], terminal)
  const { text } = readSource(source!, terminal, readRules)
  const bare = withoutMark(text)
  const document = new YamlValue(parseYaml(bare), bare.length).value as RulesDocument
  const { namespace } = document
  if (namespace !== undefined && (globals.namespace ?? namespace) !== namespace)
    throw new UsageError(`--namespace is ${globals.namespace}, and the file is of ${namespace}`)
  return { name: source!.name, document, namespace: globals.namespace ?? namespace }
}

/** A hundred thousand rules take a while. */
export const WITHIN_MS = 120_000

export interface ServedDocument {
  readonly document: RulesDocument
  /** The version of the namespace. */
  readonly etag: string
}

/** A namespace that does not exist yet is empty, and of version 0. */
const NOTHING: ServedDocument = { document: {}, etag: '"0"' }

export async function servedDocument(
  client: ServerClient<'getDocument'>,
  namespace: string | undefined,
): Promise<ServedDocument> {
  try {
    const asking = { query: { namespace }, withinMs: WITHIN_MS }
    const { body, etag } = await client.call('getDocument', asking)
    if (etag !== null) return { document: body, etag }
  } catch (error) {
    if (error instanceof Refusal && error.code === 'unknown_namespace') return NOTHING
    throw error
  }
  throw new CommandError(
    `${client.name} does not say which version its rules are of (no ETag). Is a proxy in between?`,
    EXIT.outOfReach,
  )
}

export async function putDocument(
  client: ServerClient<'applyDocument'>,
  { document, namespace }: FileDocument,
  ifMatch: string,
  isDryRun: boolean,
): Promise<AnswerOf<'applyDocument'>> {
  try {
    const query = { namespace, dry_run: isDryRun }
    const asking = { query, body: document, ifMatch, withinMs: WITHIN_MS }
    return (await client.call('applyDocument', asking)).body
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'stale_version') throw error
    throw new CommandError(
      'Somebody else has changed the rules meanwhile; nothing was applied. See what they did and plan again: sluice rules plan',
      EXIT.failed,
    )
  }
}

/** As a server would give it back, but in the order of names: what is the same is written in one way. */
export async function canonicalDocument(
  document: RulesDocument,
  namespace: string,
): Promise<RulesDocument> {
  const content = contentOf(document)
  return Array.isArray(content) ? document : inOrder(await inSlices(documentOf(namespace, content)))
}

/** Parts that have items are sorted: lists by their text, tables by name. */
function inOrder(document: RulesDocument): RulesDocument {
  const parts = Object.entries(document).map(([part, value]: [string, unknown]) => {
    const { kind } = DOCUMENT_PARTS[part as keyof RulesDocument]
    if (kind !== 'items') return [part, value]
    if (part !== 'tiers') return [part, sorted(value)]
    const tiers = Object.entries(value as object).map(([name, all]) => [name, sorted(all)])
    return [part, sorted(Object.fromEntries(tiers))]
  })
  return Object.fromEntries(parts) as RulesDocument
}

function sorted(items: unknown): unknown {
  const byText = <T>(list: readonly T[], text: (item: T) => string) =>
    list
      .map((item) => [text(item), item] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, item]) => item)
  if (Array.isArray(items)) return byText(items as unknown[], (item) => JSON.stringify(item))
  return Object.fromEntries(byText(Object.entries(items as object), ([name]) => name))
}

/** A rules file of a document, in its canonical form. */
export function printDocument(document: RulesDocument): string {
  const text = stringify(document, { lineWidth: 0, version: '1.2', aliasDuplicateObjects: false })
  const formatted = formatRules(text)
  return 'faults' in formatted ? text : formatted.text
}
