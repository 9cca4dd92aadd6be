/**
 * What data planes are told. The state of the control plane is a set of items, each with a kind, a
 * namespace and a key; a change puts some and takes others away, all at once, and has the next revision.
 * Changes are chained: each names the digest of the one before, so that a history that went another way
 * (a database restored from a backup) is not taken for this one.
 */
import { createHash } from 'node:crypto'
import type { OverrideInput, RuleInput } from '@sluice/limiter'
import {
  DOCUMENT_PARTS,
  type DocumentPart,
  type NamespaceSettings,
  OWN_FIELDS,
  RULE_FIELDS,
  SETTING_PARTS,
} from '@sluice/limiter/transport'
import type { Role } from '../security/caller.js'

export type { NamespaceSettings }

const isNewSetting = (part: (typeof SETTING_PARTS)[number]) => {
  const { isNew }: DocumentPart = DOCUMENT_PARTS[part]
  return isNew === true
}

/**
 * What the previous release cannot read: it would keep settings and rules as they were before, and lose them
 * at its next start. So these are stored only where every instance knows them.
 */
export const NEW_SETTINGS = SETTING_PARTS.filter(isNewSetting)
export const NEW_RULE_FIELDS = OWN_FIELDS.filter((name) => RULE_FIELDS[name].isNew)
/** The same by the names under which instances say that they know them. */
export const NEW_NAMES: readonly string[] = [
  ...NEW_SETTINGS,
  ...NEW_RULE_FIELDS.map((name) => `rules.${name}`),
]

/** A subject that is blocked or exempt. */
export interface ListedSubject {
  readonly scope: string
  readonly value: string
  /** ISO 8601; null without an end. */
  readonly until: string | null
  readonly reason: string | null
}

export interface CostItem {
  readonly resource: string
  readonly methods: readonly string[] | null
  readonly unit: string
  readonly cost: number
}

/** What is known of a token where callers are let in: never the token itself. */
export interface TokenItem {
  readonly name: string
  /** SHA-256 of the token, in hex. */
  readonly hash: string
  readonly role: Role
  /** Null: all of them. */
  readonly namespaces: readonly string[] | null
  readonly expires_at: string | null
}

/** By kind: the key, and what is kept under it. Tokens are of no namespace: theirs is empty. */
export interface Items {
  /** One a namespace, under the key ''. */
  namespace: NamespaceSettings
  /** By name. A tier's variant is a rule `name@tier`. */
  rule: RuleInput
  /** By `scope:value`. */
  tier: string
  /** By `[scope, value, rule]` as JSON. */
  override: OverrideInput
  /** By id. */
  exemption: ListedSubject
  block: ListedSubject
  cost: CostItem
  token: TokenItem
}

export type Kind = keyof Items

export type Edit = {
  readonly [K in Kind]: {
    readonly kind: K
    readonly namespace: string
    readonly key: string
    /** Null: it is taken away. */
    readonly item: Items[K] | null
  }
}[Kind]

/** How far a history has come. */
export interface Head {
  readonly revision: number
  /** Of everything up to there. */
  readonly digest: string
}

/** The head before the first change. */
export const NOTHING: Head = { revision: 0, digest: '' }

export interface Change extends Head {
  /** The digest of the change before. */
  readonly previous: string
  /** The edits as JSON, which the digest is of. */
  readonly edits: string
  /** When it took effect by the store's clock, in milliseconds; null where no store has seen it. */
  readonly since: number | null
}

export interface Snapshot extends Head {
  readonly edits: readonly Edit[]
}

export function digestOf(previous: string, edits: string): string {
  return createHash('sha256').update(previous).update('\n').update(edits).digest('hex').slice(0, 32)
}

/** Where changes come from: a database, a Redis, whatever else carries them. */
export interface FeedSource {
  /** Null: it has nothing, which is not the same as an empty history. */
  head(): Promise<Head | null>
  snapshot(): Promise<Snapshot | null>
  /** Those after a revision, in order; null where they are not kept any more. */
  changesAfter(revision: number): Promise<readonly Change[] | null>
  /** Calls whenever there may be something new. Answers how to stop. */
  watch(perhaps: () => void): () => void
}
