/** A whole namespace as one document: read, planned, applied all or nothing. */
import { randomUUID } from 'node:crypto'
import type { AnswerBody } from '@sluice/contract'
import { inSlices, type RulesDocument } from '@sluice/limiter'
import { NAMESPACE, quote } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import type { Caller } from '../security/caller.js'
import type { Content } from './content.js'
import {
  addListed,
  deleteById,
  deleteOverrides,
  deleteTiers,
  putCosts,
  putOverrides,
  putTiers,
} from './content-tables.js'
import {
  beginNamespace,
  type ControlContext,
  findNamespace,
  refuseFile,
  requireNamespace,
} from './context.js'
import type { Sql } from './database.js'
import { invalid, wireFaults, wireWarnings } from './faults.js'
import { loadContent } from './load-content.js'
import { refuseForOlder } from './older-instances.js'
import {
  type ContentDifference,
  compareContent,
  type Difference,
  type PlannedChange,
  plannedChanges,
} from './plan.js'
import { documentOf } from './print-document.js'
import { jsonTexts } from './print-json.js'
import { readContent, readSent } from './read-content.js'
import { deleteRules, putRules } from './rule-tables.js'
import { type IfMatch, requireVersion } from './rules-part.js'
import type { SentDocument } from './sent-document.js'
import { turns } from './turns.js'
import { NothingToWrite, type Writing } from './writing.js'

/** What would change, or has changed; `revision` is the namespace's once it is so. */
export type Plan = AnswerBody<'applyDocument'>

export interface ApplyOptions {
  /** The namespace's revision. */
  readonly ifMatch: IfMatch
  readonly dryRun?: boolean
}

/** How many whole documents are read or planned at a time, and how many more may wait for it. */
const MOST_READ = 2
/** Checking takes most memory. */
const MOST_CHECKED = 1
const MOST_WAITING = 20

export function documentsPart(context: ControlContext) {
  const inTurn = turns(MOST_READ, MOST_WAITING)
  const checkInTurn = turns(MOST_CHECKED, MOST_WAITING)

  /** The document as JSON. */
  const read = async (namespace: string): Promise<{ text: string; revision: number }> => {
    refuseFile(context.file)
    return inTurn(async () => {
      const { content, revision } = await context.view(async (sql) => ({
        revision: (await requireNamespace(sql, namespace, null)).revision,
        content: await loadContent(sql, namespace),
      }))
      const document = await inSlices(documentOf(namespace, content))
      return { text: (await inSlices(jsonTexts(document))).join(''), revision }
    })
  }

  const plan = async (
    namespace: string,
    document: RulesDocument | SentDocument,
    ifMatch: IfMatch,
  ): Promise<Plan> => {
    const wanted = await checkInTurn(() => readDocument(namespace, document))
    await refuseForOlder(context, wanted)
    return context.view(async (sql) => {
      const revision = await revisionOf(sql, namespace, ifMatch)
      return planOf(revision, (await compare(sql, namespace, wanted)).changes, wanted)
    })
  }

  const apply = async (
    caller: Caller,
    namespace: string,
    document: RulesDocument | SentDocument,
    { ifMatch, dryRun = false }: ApplyOptions,
  ): Promise<Plan> => {
    refuseFile(context.file)
    if (dryRun) return inTurn(() => plan(namespace, document, ifMatch))
    const wanted = await checkInTurn(() => readDocument(namespace, document))
    await refuseForOlder(context, wanted)
    return context.write(caller.name, async (writing) => {
      const revision = await revisionOf(writing.sql, namespace, ifMatch)
      const { difference, changes } = await compare(writing.sql, namespace, wanted)
      const isKnown = (await findNamespace(writing.sql, namespace)) !== undefined
      if (isKnown && changes.length === 0)
        throw new NothingToWrite<Plan>(planOf(revision, changes, wanted))
      await beginNamespace(writing, namespace)
      await carryOut(writing, namespace, difference, wanted)
      auditPlan(writing, namespace, changes)
      return planOf(writing.revision, changes, wanted)
    })
  }

  return { read, apply }
}

async function readDocument(
  namespace: string,
  document: RulesDocument | SentDocument,
): Promise<Content> {
  if (!NAMESPACE.test(namespace))
    throw new ServiceError('bad_request', `namespace is ${quote(namespace)}; expected a name`, {
      field: 'namespace',
    })
  const content = isSent(document)
    ? await readSent(document, namespace)
    : await readContent({ ...document, namespace })
  if ('unreadable' in content) throw new ServiceError('bad_request', content.unreadable)
  if ('faults' in content) throw invalid(wireFaults(content.faults, '', 'document'), content.others)
  const isLasting = ({ until }: { readonly until: string | null }) =>
    until === null || Date.parse(until) > Date.now()
  const { overrides, exemptions, blocks } = content
  return {
    ...content,
    overrides: overrides.filter(isLasting),
    exemptions: exemptions.filter(isLasting),
    blocks: blocks.filter(isLasting),
  }
}

function isSent(document: RulesDocument | SentDocument): document is SentDocument {
  return 'bytes' in document
}

function planOf(revision: number, changes: readonly PlannedChange[], { warnings }: Content): Plan {
  return { revision, changes, ...wireWarnings(warnings, '') }
}

/** Zero where the namespace does not exist yet. */
async function revisionOf(sql: Sql, namespace: string, ifMatch: IfMatch): Promise<number> {
  const revision = (await findNamespace(sql, namespace))?.revision ?? 0
  requireVersion(revision, ifMatch)
  return revision
}

async function compare(sql: Sql, namespace: string, wanted: Content) {
  const before = await loadContent(sql, namespace)
  const difference = await inSlices(compareContent(before, wanted))
  const changes = await inSlices(plannedChanges(difference, before, wanted))
  return { difference, changes }
}

async function carryOut(
  writing: Writing,
  namespace: string,
  difference: ContentDifference,
  wanted: Content,
): Promise<void> {
  const { rules, tiers, overrides, exemptions, blocks, costs } = difference
  if (difference.settings) await putSettings(writing, namespace, wanted.settings)
  await deleteOverrides(writing, namespace, overrides.removed)
  await deleteRules(
    writing,
    rules.removed.map((rule) => ({ ...rule, namespace })),
  )
  await putRules(writing, [
    ...rules.changed.map(([{ id, version, created_at }, row]) => ({
      record: { id, namespace, version: version + 1, created_at },
      row,
    })),
    ...rules.added.map((row) => ({
      record: { id: randomUUID(), namespace, version: 1, created_at: writing.at },
      row,
    })),
  ])
  await deleteTiers(writing, namespace, tiers.removed)
  await putTiers(writing, namespace, comingOf(tiers))
  await putOverrides(writing, namespace, comingOf(overrides))
  for (const [list, { added, removed }] of [
    ['exemptions', exemptions],
    ['blocks', blocks],
  ] as const) {
    await deleteById(writing, list, namespace, removed)
    await addListed(writing, list, namespace, added)
  }
  await deleteById(writing, 'costs', namespace, costs.removed)
  await putCosts(writing, namespace, [
    ...costs.changed.map(([{ id }, row]) => ({ ...row, id })),
    ...costs.added.map((row) => ({ ...row, id: randomUUID() })),
  ])
}

/** What is to be put, new or in the place of what was. */
function comingOf<A>({ added, changed }: Difference<unknown, A>): A[] {
  return [...added, ...changed.map(([, item]) => item)]
}

async function putSettings(
  writing: Writing,
  namespace: string,
  settings: Content['settings'],
): Promise<void> {
  await writing.sql.query('UPDATE sluice.namespaces SET settings = $2::jsonb WHERE name = $1', [
    namespace,
    JSON.stringify(settings),
  ])
  writing.edit({ kind: 'namespace', namespace, key: '', item: settings })
}

function auditPlan(writing: Writing, namespace: string, changes: readonly PlannedChange[]): void {
  for (const { what, name, change, before, after } of changes)
    writing.audit({
      namespace,
      action: 'document.apply',
      target: `${what} ${name}`,
      before: before === null ? null : { [what]: before },
      after: after === null ? { change } : { [what]: after },
    })
}
