/** Handlers of rules, from the database or from the rules file in force. */
import type { RouteIdsOf, RuleBody } from '@sluice/contract'
import { optionalText } from '../http/body.js'
import type { Call, Handlers, Reply } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import { type ControlParts, plane, rulesPlane } from './control-parts.js'
import { listFileRules, namedFileRule } from './file-rules.js'
import {
  etag,
  namespaceIn,
  optionalMatch,
  pageIn,
  pageReply,
  present,
  requiredMatch,
} from './pages.js'

export function ruleHandlers(parts: ControlParts): Handlers<RouteIdsOf<'rules'>> {
  const { tenants, mode } = parts
  const servedBy = (call: Pick<Call, 'caller'>, query: { readonly namespace?: string }) =>
    tenants.require(namespaceIn(call, query, tenants.home))

  return {
    async listRules(call) {
      const query = call.query()
      const page = pageIn(query, 'name')
      const { namespace: _namespace, cursor: _cursor, limit: _limit, ...filter } = query
      if (mode === 'file')
        return pageReply(listFileRules(servedBy(call, query), present(filter), page), 'name')
      const namespace = namespaceIn(call, query)
      const listed = await plane(parts).rules.list({ namespace, ...present(filter) }, page)
      return pageReply(listed, 'name')
    },

    async createRule(call) {
      const body = call.body()
      const namespace = namespaceOf(call.caller, optionalText(body, 'namespace'))
      const rule = await rulesPlane(parts).rules.create(call.caller, namespace, body)
      const headers = { Location: `/v1/rules/${rule.id}`, ETag: etag(rule.version) }
      return { status: 201, headers, body: rule }
    },

    async getRule(call) {
      const query = call.query()
      const { id } = call.params
      if (mode === 'file') return ruleReply(namedFileRule(servedBy(call, query), id))
      return ruleReply(await plane(parts).rules.get(call.caller, id))
    },

    async replaceRule(call) {
      const { rules } = rulesPlane(parts)
      const { id } = call.params
      return ruleReply(await rules.replace(call.caller, id, call.body(), requiredMatch(call)))
    },

    async patchRule(call) {
      const { rules } = rulesPlane(parts)
      const { id } = call.params
      return ruleReply(await rules.patch(call.caller, id, call.body(), requiredMatch(call)))
    },

    async deleteRule(call) {
      await rulesPlane(parts).rules.remove(call.caller, call.params.id, requiredMatch(call))
      return { status: 204 }
    },

    async ruleHistory(call) {
      const page = pageIn(call.query(), 'version')
      const { rules } = rulesPlane(parts)
      return pageReply(await rules.history(call.caller, call.params.id, page), 'version')
    },

    async rollbackRule(call) {
      const { version } = call.body()
      const { rules } = rulesPlane(parts)
      const match = optionalMatch(call) ?? 'any'
      return ruleReply(await rules.rollback(call.caller, call.params.id, version, match))
    },
  }
}

function ruleReply(rule: RuleBody): Reply<RuleBody> {
  return { status: 200, headers: { ETag: etag(rule.version) }, body: rule }
}
