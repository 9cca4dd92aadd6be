/** Namespaces, and each as one whole document, over HTTP. */
import { inSlices } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'
import { jsonTexts } from '../control/print-json.js'
import { DOCUMENT_LIMITS } from '../document-limits.js'
import { badField } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import { etag, namespaceIn, optionalMatch, queryOf, requiredMatch } from './call.js'
import { type AdminParts, adminRoute, plane, rulesPlane } from './parts.js'

export function documentRoutes(parts: AdminParts): Route[] {
  const { mostBytes, deepest } = parts.documentLimits ?? DOCUMENT_LIMITS

  /** Those that the caller may ask for. */
  const namespaces = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const all = await plane(parts).namespaces()
    const own = call.caller.namespaces
    const items = all.filter(({ name }) => own === null || own.has(name))
    return { status: 200, body: { items, next: null } }
  }

  const read = async (call: Call): Promise<Reply> => {
    const namespace = namespaceIn(call, queryOf(call, ['namespace']))
    const { text, revision } = await rulesPlane(parts).documents.read(namespace)
    return jsonReply(text, revision)
  }

  const apply = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace', 'dry_run'])
    const namespace = namespaceIn(call, query)
    const dryRun = flagOf(query['dry_run'], 'dry_run')
    const { documents } = rulesPlane(parts)
    const ifMatch = dryRun ? (optionalMatch(call) ?? 'any') : requiredMatch(call)
    const document = { bytes: call.bytes(), deepest }
    const plan = await documents.apply(call.caller, namespace, document, { ifMatch, dryRun })
    return jsonReply((await inSlices(jsonTexts(plan))).join(''), plan.revision)
  }

  return [
    adminRoute('GET', '/v1/namespaces', 'reader', namespaces),
    adminRoute('GET', '/v1/document', 'reader', read),
    adminRoute('PUT', '/v1/document', 'admin', apply, mostBytes),
  ]
}

function jsonReply(body: string, revision: number): Reply {
  const headers = { ETag: etag(revision) }
  return { status: 200, headers, body, contentType: 'application/json' }
}

function flagOf(text: string | undefined, field: string): boolean {
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw badField(field, `is ${quote(text)}; expected true or false`)
}
