/** Handlers of tokens and the audit. */
import type { RouteIdsOf } from '@sluice/contract'
import { parseTime } from '@sluice/limiter/transport'
import type { Handlers } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import { type ControlParts, plane } from './control-parts.js'
import { pageIn, pageReply, present } from './pages.js'

export function tokenHandlers(parts: ControlParts): Handlers<RouteIdsOf<'tokens'>> {
  return {
    async listTokens(call) {
      const page = pageIn(call.query(), 'id')
      return pageReply(await plane(parts).tokens.list(call.caller, page), 'id')
    },

    async createToken(call) {
      const { name, role, namespaces, expires_at } = call.body()
      const fields = { name, role, namespaces, ...present({ expires_at }) }
      const token = await plane(parts).tokens.create(call.caller, fields)
      return { status: 201, headers: { Location: `/v1/tokens/${token.id}` }, body: token }
    },

    async revokeToken(call) {
      await plane(parts).tokens.revoke(call.caller, call.params.id)
      return { status: 204 }
    },

    async listAudit(call) {
      const query = call.query()
      const page = pageIn(query, 'audit')
      const { namespace, actor, action, target } = query
      if (namespace !== undefined) namespaceOf(call.caller, namespace)
      const [from, to] = [timeOf(query.from), timeOf(query.to)]
      const filter = present({ namespace, actor, action, target, from, to })
      return pageReply(await plane(parts).audit.list(call.caller, filter, page), 'audit')
    },
  }
}

function timeOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(parseTime(text))
}
