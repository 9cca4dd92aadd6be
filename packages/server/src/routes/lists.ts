/** Handlers of exemptions, blocks and costs. */
import type { RouteIdsOf } from '@sluice/contract'
import type { ListName } from '../control/content.js'
import { badField } from '../http/body.js'
import type { Handler, Handlers } from '../http/route.js'
import { type ControlParts, plane, rulesPlane } from './control-parts.js'
import { listFileCosts } from './file-rules.js'
import { namespaceIn, namespaceOfBody, pageIn, pageReply, present } from './pages.js'

export function listHandlers(parts: ControlParts): Handlers<RouteIdsOf<'lists'>> {
  const exemptions = subjectList(parts, 'exemptions')
  const blocks = subjectList(parts, 'blocks')
  return {
    listExemptions: exemptions.list,
    createExemption: exemptions.create,
    deleteExemption: exemptions.remove,
    listBlocks: blocks.list,
    createBlock: blocks.create,
    deleteBlock: blocks.remove,
    ...costHandlers(parts),
  }
}

interface SubjectList {
  readonly list: Handler<'listBlocks'>
  readonly create: Handler<'createBlock'>
  readonly remove: Handler<'deleteBlock'>
}

function subjectList(parts: ControlParts, name: ListName): SubjectList {
  return {
    async list(call) {
      const query = call.query()
      const page = pageIn(query, 'id')
      return pageReply(await plane(parts)[name].list(namespaceIn(call, query), page), 'id')
    },

    async create(call) {
      const { scope, value, until, reason, ...body } = call.body()
      const namespace = namespaceOfBody(call, call.query(), body)
      const fields = { scope, value, ...present({ until, reason }) }
      const added = await plane(parts)[name].add(call.caller, namespace, fields)
      return { status: 201, headers: { Location: `/v1/${name}/${added.id}` }, body: added }
    },

    async remove(call) {
      await plane(parts)[name].remove(call.caller, call.params.id)
      return { status: 204 }
    },
  }
}

function costHandlers(parts: ControlParts): Handlers<'listCosts' | 'setCost' | 'deleteCost'> {
  const { tenants, mode } = parts
  return {
    async listCosts(call) {
      const query = call.query()
      if (mode === 'file') {
        const tenant = tenants.require(namespaceIn(call, query, tenants.home))
        return pageReply(listFileCosts(tenant, pageIn(query, 'place')), 'place')
      }
      const namespace = namespaceIn(call, query)
      return pageReply(await plane(parts).costs.list(namespace, pageIn(query, 'id')), 'id')
    },

    async setCost(call) {
      const { resource, cost, unit, methods, ...body } = call.body()
      if (cost === undefined) throw badField('cost', 'is missing; expected a whole number')
      const namespace = namespaceOfBody(call, call.query(), body)
      const list = typeof methods === 'string' ? [methods] : methods
      const fields = { resource, cost, ...present({ methods: list, unit }) }
      return {
        status: 200,
        body: await rulesPlane(parts).costs.set(call.caller, namespace, fields),
      }
    },

    async deleteCost(call) {
      await rulesPlane(parts).costs.remove(call.caller, call.params.id)
      return { status: 204 }
    },
  }
}
