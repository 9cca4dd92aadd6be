/** Tokens and the audit over HTTP. */
import { quote } from '@sluice/limiter/transport'
import { badField, refuseUnknown, requiredText } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import { namespaceOf } from '../security/caller.js'
import { PAGE, pageIn, pageReply, present, queryOf, textOrNone, timeIn } from './call.js'
import { type AdminParts, adminRoute, plane } from './parts.js'

export function tokenRoutes(parts: AdminParts): Route[] {
  const list = async (call: Call): Promise<Reply> => {
    const page = pageIn(queryOf(call, PAGE), 'id')
    return pageReply(await plane(parts).tokens.list(call.caller, page), 'id')
  }

  const create = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    const body = call.body()
    refuseUnknown(body, ['name', 'role', 'namespaces', 'expires_at'])
    const name = requiredText(body, 'name', 'what the token is called in the audit')
    const role = requiredText(body, 'role', 'client, reader, operator or admin')
    const namespaces = namespacesIn(body['namespaces'])
    const expires_at = textOrNone(body, 'expires_at')
    const fields = { name, role, namespaces, ...present({ expires_at }) }
    const token = await plane(parts).tokens.create(call.caller, fields)
    return { status: 201, headers: { Location: `/v1/tokens/${token.id}` }, body: token }
  }

  const revoke = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    await plane(parts).tokens.revoke(call.caller, call.params['id']!)
    return { status: 204 }
  }

  const audit = async (call: Call): Promise<Reply> => {
    const fields = ['namespace', 'actor', 'action', 'target', 'from', 'to']
    const query = queryOf(call, [...fields, ...PAGE])
    const page = pageIn(query, 'audit')
    const { namespace, actor, action, target } = query
    if (namespace !== undefined) namespaceOf(call.caller, namespace)
    const [from, to] = [timeOf(query['from'], 'from'), timeOf(query['to'], 'to')]
    const filter = present({ namespace, actor, action, target, from, to })
    return pageReply(await plane(parts).audit.list(call.caller, filter, page), 'audit')
  }

  return [
    adminRoute('GET', '/v1/tokens', 'reader', list),
    adminRoute('POST', '/v1/tokens', 'admin', create),
    adminRoute('DELETE', '/v1/tokens/{id}', 'admin', revoke),
    adminRoute('GET', '/v1/audit', 'reader', audit),
  ]
}

/** Null: all. It must be said, so that nobody gives out more than was meant. */
function namespacesIn(value: unknown): string[] | null {
  if (value === null) return null
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value
  const words = value === undefined ? 'is missing' : `is ${quote(value)}`
  throw badField('namespaces', `${words}; expected a list of names, or null for all`)
}

function timeOf(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : new Date(timeIn(text, field))
}
