/** Exemptions, blocks and costs over HTTP. */
import { quote } from '@sluice/limiter/transport'
import type { ListName } from '../control/lists-part.js'
import { badField, refuseUnknown, requiredText } from '../http/body.js'
import type { Call, Reply, Route } from '../http/route.js'
import type { Role } from '../security/caller.js'
import {
  namespaceIn,
  namespaceOfBody,
  PAGE,
  pageIn,
  pageReply,
  present,
  queryOf,
  textOrNone,
} from './call.js'
import { listFileCosts } from './file-rules.js'
import { type AdminParts, adminRoute, plane, rulesPlane } from './parts.js'

/** Who may change them: whom to block is an operator's business, whom to exempt an admin's. */
const WRITERS: Readonly<Record<ListName, Role>> = { blocks: 'operator', exemptions: 'admin' }

export function listRoutes(parts: AdminParts): Route[] {
  return [
    ...subjectLists(parts, 'exemptions'),
    ...subjectLists(parts, 'blocks'),
    ...costRoutes(parts),
  ]
}

function subjectLists(parts: AdminParts, name: ListName): Route[] {
  const path = `/v1/${name}`
  const writer = WRITERS[name]

  const list = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace', ...PAGE])
    const page = pageIn(query, 'id')
    return pageReply(await plane(parts)[name].list(namespaceIn(call, query), page), 'id')
  }

  const add = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace'])
    const body = call.body()
    refuseUnknown(body, ['namespace', 'scope', 'value', 'until', 'reason'])
    const scope = requiredText(body, 'scope', 'a scope, such as user')
    const value = requiredText(body, 'value', 'a value of it, or a CIDR for ip')
    const [until, reason] = [textOrNone(body, 'until'), textOrNone(body, 'reason')]
    const namespace = namespaceOfBody(call, query, body)
    const fields = { scope, value, ...present({ until, reason }) }
    const added = await plane(parts)[name].add(call.caller, namespace, fields)
    return { status: 201, headers: { Location: `${path}/${added.id}` }, body: added }
  }

  const remove = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    await plane(parts)[name].remove(call.caller, call.params['id']!)
    return { status: 204 }
  }

  return [
    adminRoute('GET', path, 'reader', list),
    adminRoute('POST', path, writer, add),
    adminRoute('DELETE', `${path}/{id}`, writer, remove),
  ]
}

function costRoutes(parts: AdminParts): Route[] {
  const { tenants, mode } = parts

  const list = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace', ...PAGE])
    if (mode === 'file') {
      const tenant = tenants.require(namespaceIn(call, query, tenants.home))
      return pageReply(listFileCosts(tenant, pageIn(query, 'place')), 'place')
    }
    const namespace = namespaceIn(call, query)
    return pageReply(await plane(parts).costs.list(namespace, pageIn(query, 'id')), 'id')
  }

  const set = async (call: Call): Promise<Reply> => {
    const query = queryOf(call, ['namespace'])
    const body = call.body()
    refuseUnknown(body, ['namespace', 'resource', 'methods', 'unit', 'cost'])
    const resource = requiredText(body, 'resource', 'a resource, such as /v1/search')
    const methods = methodsIn(body['methods'])
    const unit = textOrNone(body, 'unit')
    if (body['cost'] === undefined) throw badField('cost', 'is missing; expected a whole number')
    const namespace = namespaceOfBody(call, query, body)
    const fields = { resource, cost: body['cost'], ...present({ methods, unit }) }
    return { status: 200, body: await rulesPlane(parts).costs.set(call.caller, namespace, fields) }
  }

  const remove = async (call: Call): Promise<Reply> => {
    queryOf(call, [])
    await rulesPlane(parts).costs.remove(call.caller, call.params['id']!)
    return { status: 204 }
  }

  return [
    adminRoute('GET', '/v1/costs', 'reader', list),
    adminRoute('PUT', '/v1/costs', 'admin', set),
    adminRoute('DELETE', '/v1/costs/{id}', 'admin', remove),
  ]
}

/** One, several, or all where none is given. */
function methodsIn(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (list.every((one) => typeof one === 'string')) return list
  throw badField('methods', `is ${quote(value)}; expected methods such as ["GET"]`)
}
