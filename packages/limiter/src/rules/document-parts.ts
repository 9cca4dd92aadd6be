/**
 * The parts of a rules document, one entry each. Everything that lists them uses this table: a part that
 * is missing here does not compile.
 */
import type { RulesDocument } from './document.js'

export interface DocumentPart {
  /**
   * `head`: which document it is. `setting`: kept as one value for the whole namespace. `items`: a list
   * whose items are kept and changed one by one.
   */
  readonly kind: 'head' | 'setting' | 'items'
  /** Every rule is read differently when it changes. */
  readonly changesRules?: true
  /** Instances of the previous release cannot read it. */
  readonly isNew?: true
}

export const DOCUMENT_PARTS = {
  version: { kind: 'head' },
  namespace: { kind: 'head' },
  timezone: { kind: 'setting', changesRules: true },
  defaults: { kind: 'setting', changesRules: true },
  normalize: { kind: 'setting', changesRules: true, isNew: true },
  scopes: { kind: 'setting' },
  default_rule: { kind: 'setting' },
  tiers: { kind: 'items' },
  rules: { kind: 'items' },
  overrides: { kind: 'items' },
  costs: { kind: 'items' },
  exemptions: { kind: 'items' },
  blocks: { kind: 'items' },
} as const satisfies Record<keyof RulesDocument, DocumentPart>

type Parts = typeof DOCUMENT_PARTS

/** The parts that are kept as one value for a whole namespace. */
export type SettingPart = {
  [P in keyof Parts]: Parts[P]['kind'] extends 'setting' ? P : never
}[keyof Parts]

/** What a namespace has besides its items. */
export type NamespaceSettings = Pick<RulesDocument, SettingPart>

const isSetting = (name: string): name is SettingPart =>
  DOCUMENT_PARTS[name as keyof Parts].kind === 'setting'

export const SETTING_PARTS = Object.keys(DOCUMENT_PARTS).filter(isSetting)

/** Only these parts of a document, where they are stated. */
export function partsOf<P extends keyof RulesDocument>(
  document: Readonly<Partial<RulesDocument>>,
  parts: readonly P[],
): Pick<RulesDocument, P> {
  const stated = parts.filter((part) => document[part] !== undefined)
  return Object.fromEntries(stated.map((part) => [part, document[part]])) as Pick<RulesDocument, P>
}
