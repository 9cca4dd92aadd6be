/** Rules over HTTP: from the database, or as the file in force has them. */
import { quote } from '@sluice/limiter/transport'
import type { WireRule } from '../control/rules-part.js'
import { badField, optionalText, refuseUnknown } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import {
  etag,
  namespaceIn,
  optionalMatch,
  PAGE,
  pageIn,
  pageReply,
  present,
  queryOf,
  requiredMatch,
} from './call.js'
import { listFileRules, namedFileRule } from './file-rules.js'
import { type AdminParts, adminRoute, plane, rulesPlane } from './parts.js'

export function ruleRoutes(parts: AdminParts): Route[] {
  const { tenants, mode } = parts

  const list = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['scope', 'resource', 'namespace', ...PAGE])
    const page = pageIn(query, 'name')
    const { scope, resource } = query
    if (mode === 'file') {
      const tenant = tenants.require(namespaceIn(call, query, tenants.home))
      return pageReply(listFileRules(tenant, present({ scope, resource }), page), 'name')
    }
    const namespace = namespaceIn(call, query)
    const filter = { namespace, ...present({ scope, resource }) }
    return pageReply(await plane(parts).rules.list(filter, page), 'name')
  }

  const get = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace'])
    if (mode !== 'file') return ruleReply(await plane(parts).rules.get(call.caller, idOf(call)))
    const tenant = tenants.require(namespaceIn(call, query, tenants.home))
    return ruleReply(namedFileRule(tenant, idOf(call)))
  }

  const create = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const body = call.body()
    const namespace = namespaceOf(call.caller, optionalText(body, 'namespace'))
    const rule = await rulesPlane(parts).rules.create(call.caller, namespace, body)
    const headers = { Location: `/v1/rules/${rule.id}`, ETag: etag(rule.version) }
    return { status: 201, headers, body: rule }
  }

  const replace = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const { rules } = rulesPlane(parts)
    return ruleReply(await rules.replace(call.caller, idOf(call), call.body(), requiredMatch(call)))
  }

  const patch = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const { rules } = rulesPlane(parts)
    return ruleReply(await rules.patch(call.caller, idOf(call), call.body(), requiredMatch(call)))
  }

  const remove = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    await rulesPlane(parts).rules.remove(call.caller, idOf(call), requiredMatch(call))
    return { status: 204 }
  }

  const history = async (call: Call): Promise<Reply> => {
    const page = pageIn(queryOf(call, PAGE), 'version')
    const { rules } = rulesPlane(parts)
    return pageReply(await rules.history(call.caller, idOf(call), page), 'version')
  }

  const rollback = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const body = call.body()
    refuseUnknown(body, ['version'])
    const { version } = body
    if (!Number.isSafeInteger(version) || (version as number) < 1)
      throw badField('version', `is ${quote(version)}; expected a version of the rule's history`)
    const { rules } = rulesPlane(parts)
    const match = optionalMatch(call) ?? 'any'
    return ruleReply(await rules.rollback(call.caller, idOf(call), version as number, match))
  }

  return [
    adminRoute('GET', '/v1/rules', 'reader', list),
    adminRoute('POST', '/v1/rules', 'admin', create),
    adminRoute('GET', '/v1/rules/{id}', 'reader', get),
    adminRoute('PUT', '/v1/rules/{id}', 'admin', replace),
    adminRoute('PATCH', '/v1/rules/{id}', 'admin', patch),
    adminRoute('DELETE', '/v1/rules/{id}', 'admin', remove),
    adminRoute('GET', '/v1/rules/{id}/history', 'reader', history),
    adminRoute('POST', '/v1/rules/{id}/rollback', 'admin', rollback),
  ]
}

function idOf({ params }: Call): string {
  return params['id']!
}

function ruleReply(rule: WireRule): Reply {
  return { status: 200, headers: { ETag: etag(rule.version) }, body: rule }
}
