/** Handlers of namespaces, and of a whole namespace as one document. */
import type { RouteIdsOf } from '@sluice/contract'
import { inSlices } from '@sluice/limiter'
import { jsonTexts } from '../control/print-json.js'
import type { Handlers, Reply } from '../http/route.js'
import { type ControlParts, plane, rulesPlane } from './control-parts.js'
import { etag, namespaceIn, optionalMatch, requiredMatch } from './pages.js'

export function documentHandlers(parts: ControlParts): Handlers<RouteIdsOf<'documents'>> {
  const { deepest } = parts.documentLimits
  return {
    /** Only those that the caller's token is for. */
    async listNamespaces({ caller }) {
      const all = await plane(parts).namespaces()
      const own = caller.namespaces
      const items = all.filter(({ name }) => own === null || own.has(name))
      return { status: 200, body: { items, next: null } }
    },

    async getDocument(call) {
      const namespace = namespaceIn(call, call.query())
      const { text, revision } = await rulesPlane(parts).documents.read(namespace)
      return jsonReply(text, revision)
    },

    async applyDocument(call) {
      const query = call.query()
      const namespace = namespaceIn(call, query)
      const dryRun = query.dry_run ?? false
      const { documents } = rulesPlane(parts)
      const ifMatch = dryRun ? (optionalMatch(call) ?? 'any') : requiredMatch(call)
      const document = { bytes: call.bytes(), deepest }
      const plan = await documents.apply(call.caller, namespace, document, { ifMatch, dryRun })
      return jsonReply((await inSlices(jsonTexts(plan))).join(''), plan.revision)
    },
  }
}

function jsonReply(body: string, revision: number): Reply<never> {
  const headers = { ETag: etag(revision) }
  return { status: 200, headers, body, contentType: 'application/json' }
}
