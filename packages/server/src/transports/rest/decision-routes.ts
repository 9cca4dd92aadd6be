/** The routes that decide, give back and explain, in the ordinary way: parsed, read, asked, printed. */
import type { Request } from '@sluice/limiter'
import type { DecisionRecord, Undone } from '@sluice/limiter/transport'
import type { Decisions } from '../../decisions.js'
import { ServiceError } from '../../error-codes.js'
import { type Body, badField, optionalText, refuseUnknown, requiredText } from '../../http/body.js'
import {
  BATCH_BODY_BYTES,
  type Call,
  CHECK_BODY_BYTES,
  type Reply,
  type Route,
  VOUCHER_BODY_BYTES,
} from '../../http/route.js'
import { Forgotten, NobodyKnows, NotDone, NotRecorded, UnderWay } from '../../receipts/once.js'
import { Conflict } from '../../receipts/vouchers.js'
import { namespaceOf, type Role, requireRole } from '../../security/caller.js'
import { traced } from '../../telemetry/tracing.js'
import type { Tenant } from '../../tenants.js'
import { answerOf, isoTime, statusOf } from './wire-answer.js'
import { inWireWords, readAmounts, readBatch, readCheck } from './wire-request.js'

/** What is asked, and in which namespace. */
interface Asked {
  readonly request: Request
  readonly tenant: Tenant
}

export function decisionRoutes(decisions: Decisions): Route[] {
  const { tenants, vouchers } = decisions

  const headersOf = (decision: DecisionRecord) => decision.toHeaders(decisions.headerFamilies)

  /** The namespace that is meant: it must be one of the caller's, and served. */
  const tenantOf = ({ caller }: Call, stated: string | undefined, prefix = ''): Tenant =>
    tenants.require(namespaceOf(caller, stated, tenants.home), `${prefix}namespace`)

  /** The same for a text that was given out for one. */
  const tenantOfSealed = (call: Call, stated: string | undefined, sealed: string): Tenant =>
    tenantOf(call, stated ?? vouchers.namespaceOf(sealed) ?? undefined)

  const single = (call: Call, fields: Body = call.body()): Asked => {
    const { request, namespace } = readCheck(fields)
    return { request: withKey(request, call), tenant: tenantOf(call, namespace) }
  }

  const decide = async ({ request, tenant }: Asked, call: Call): Promise<DecisionRecord> => {
    const started = performance.now()
    const decision = await traced(call.headers, async () => decisions.decide(tenant, request))
    decisions.observer.took('rest', (performance.now() - started) / 1000, 1)
    return decision
  }

  const check = async (call: Call): Promise<Reply> => {
    const asked = single(call)
    const decision = await decide(asked, call)
    const hasOwnHold = asked.request.holdId !== undefined
    const body = answerOf(decision, vouchers, { hasOwnHold })
    return { status: statusOf(decision), headers: headersOf(decision), body }
  }

  const batch = async (call: Call): Promise<Reply> => {
    if (call.headers['x-idempotency-key'] !== undefined)
      throw badField('X-Idempotency-Key', 'goes with a single check; give each its idempotency_key')
    const checks = readBatch(call.body()).map(({ request, namespace }, i): Asked => {
      const tenant = tenantOf(call, namespace, `checks[${i}].`)
      try {
        tenant.limiter.validate(request)
      } catch (error) {
        throw inWireWords(error, `checks[${i}].`)
      }
      return { request, tenant }
    })
    const results = await Promise.all(checks.map((one, i) => decideOne(one, i, call)))
    return { status: 200, body: { results } }
  }

  /** What goes wrong with one check of a batch after all were found good is that one's answer. */
  const decideOne = async (asked: Asked, i: number, call: Call): Promise<unknown> => {
    try {
      const decision = await decide(asked, call)
      return answerOf(decision, vouchers, { hasOwnHold: asked.request.holdId !== undefined })
    } catch (error) {
      const said = inWireWords(error, `checks[${i}].`)
      if (!(said instanceof ServiceError)) throw said
      return { error: { code: said.code, message: said.message, field: said.field } }
    }
  }

  const quota = async (call: Call): Promise<Reply> => {
    const { request, tenant } = single(call)
    const decision = (await tenant.limiter.peek(request)) as unknown as DecisionRecord
    return { status: 200, headers: headersOf(decision), body: answerOf(decision, vouchers) }
  }

  const refund = async (call: Call): Promise<Reply> => {
    const body = call.body()
    const receipt = optionalText(body, 'receipt')
    const { receipt: _receipt, ...fields } = body
    refuseForRefund(call)
    if (receipt === undefined) {
      requireRole(call.caller, 'operator')
      const asked = single(call, fields)
      const refunded = done(await asked.tenant.limiter.changes.grant(asked.request))
      return { status: 200, body: { refunded, limits: await limitsOf(asked) } }
    }
    const amounts = readAmounts(body)
    const { cost: _cost, costs: _costs, ...rest } = fields
    const names = ['subject', 'scope', 'identifier'].some((field) => rest[field] !== undefined)
    const { request, namespace } = readCheck(names ? rest : { ...rest, subject: {} })
    const tenant = tenantOfSealed(call, namespace, receipt)
    const refunded = await once(() => vouchers.refund(tenant.limiter, receipt, amounts))
    if (refunded === null) throw unknown('receipt')
    const limits = names ? await limitsOf({ request, tenant }) : []
    return { status: 200, body: { refunded, limits } }
  }

  const limitsOf = async ({ request, tenant }: Asked): Promise<unknown> => {
    const { idempotencyKey: _key, holdId: _hold, ...asked } = request
    const decision = (await tenant.limiter.peek(asked)) as unknown as DecisionRecord
    return answerOf(decision, vouchers)['limits']
  }

  const reset = async (call: Call): Promise<Reply> => {
    const body = call.body()
    refuseUnknown(body, ['namespace', 'subject', 'scope', 'identifier', 'rule'])
    const rule = optionalText(body, 'rule')
    const { rule: _rule, ...fields } = body
    const { request, namespace } = readCheck(fields)
    const { limiter } = tenantOf(call, namespace)
    const count = done(await limiter.changes.reset(request.subject ?? {}, rule))
    return { status: 200, body: { reset: count } }
  }

  const reserve = async (call: Call): Promise<Reply> => {
    const asked = single(call)
    const decision = await decide(asked, call)
    const extras = { isReservation: true, hasOwnHold: asked.request.holdId !== undefined }
    const body = answerOf(decision, vouchers, extras)
    return { status: statusOf(decision), headers: headersOf(decision), body }
  }

  const settle = async (call: Call): Promise<Reply> => {
    const body = call.body()
    refuseUnknown(body, ['namespace', 'reservation', 'cost', 'costs'])
    const reservation = requiredText(body, 'reservation', 'what a reserve answered')
    const used = readAmounts(body)
    if (used === null) throw badField('cost', 'is missing; expected what was really used, or costs')
    const { limiter } = tenantOfSealed(call, optionalText(body, 'namespace'), reservation)
    const settled = await once(() => vouchers.settle(limiter, reservation, used))
    if (settled === null) throw unknown('reservation')
    return { status: 200, body: settled }
  }

  /** The hold that was given, or a caller's own id with whom and what it is for; null: not one of ours. */
  const holdOf = (call: Call) => {
    const body = call.body()
    const sealed = requiredText(body, 'hold', 'what a check answered as hold')
    const isOwn = ['subject', 'scope', 'resource'].some((field) => body[field] !== undefined)
    if (isOwn) {
      const { request, tenant } = single(call)
      return { limiter: tenant.limiter, hold: request as Request & { holdId: string } }
    }
    refuseUnknown(body, ['namespace', 'hold'])
    const { limiter } = tenantOfSealed(call, optionalText(body, 'namespace'), sealed)
    return { limiter, hold: vouchers.openHold(limiter, sealed) }
  }

  const renew = async (call: Call): Promise<Reply> => {
    const { limiter, hold } = holdOf(call)
    const expiry = hold === null ? null : done(await limiter.changes.renew(hold))
    if (expiry === null)
      throw new ServiceError('lost', 'the hold is not held any more', { field: 'hold' })
    const { hold: id } = call.body()
    return { status: 200, body: { hold: id, hold_expires_at: isoTime(expiry) } }
  }

  const release = async (call: Call): Promise<Reply> => {
    const { limiter, hold } = holdOf(call)
    const released = hold === null ? false : done(await limiter.changes.release(hold))
    return { status: 200, body: { released } }
  }

  const explain = async (call: Call): Promise<Reply> => {
    const { normalize, ...fields } = call.body()
    const { request, tenant } = single(call, fields)
    const { decision, resource, isNormalized, applied, setAside, absentScopes, tiers, cost } =
      await tenant.limiter.explain(
        normalize === undefined ? request : { ...request, normalize: normalize as boolean },
      )
    const body = {
      decision: answerOf(decision as unknown as DecisionRecord, vouchers),
      resource,
      normalized: isNormalized,
      applied,
      set_aside: setAside,
      absent_scopes: absentScopes,
      tier: tiers[applied[0]?.scope ?? ''] ?? Object.values(tiers)[0] ?? null,
      tiers,
      cost,
      revision: tenants.revision,
    }
    return { status: 200, body }
  }

  const post = (
    path: string,
    handle: (call: Call) => Promise<Reply>,
    role: Role = 'client',
    longestBody = CHECK_BODY_BYTES,
  ): Route => ({ method: 'POST', path, role, longestBody, handle: inWords(handle) })

  return [
    post('/v1/check', check),
    post('/v1/check/batch', batch, 'client', BATCH_BODY_BYTES),
    post('/v1/quota', quota),
    post('/v1/refund', refund, 'client', VOUCHER_BODY_BYTES),
    post('/v1/reset', reset, 'operator'),
    post('/v1/reserve', reserve),
    post('/v1/settle', settle, 'client', VOUCHER_BODY_BYTES),
    post('/v1/renew', renew, 'client', VOUCHER_BODY_BYTES),
    post('/v1/release', release, 'client', VOUCHER_BODY_BYTES),
    post('/v1/explain', explain, 'reader'),
  ]
}

function inWords(handle: (call: Call) => Promise<Reply>): (call: Call) => Promise<Reply> {
  return async (call) => {
    try {
      return await handle(call)
    } catch (error) {
      throw inWireWords(error)
    }
  }
}

/** The idempotency key may come as a header. */
function withKey(request: Request, { headers }: Call): Request {
  const key = headers['x-idempotency-key']
  if (key === undefined) return request
  if (request.idempotencyKey !== undefined && request.idempotencyKey !== key)
    throw badField('idempotency_key', 'differs from X-Idempotency-Key; give one of them')
  return { ...request, idempotencyKey: String(key) }
}

function unknown(field: string): ServiceError {
  return new ServiceError(
    'unknown_receipt',
    `${field} was not given out here, was changed, or is older than an hour`,
    { field },
  )
}

/** What a refund would not heed must not be asked for. */
function refuseForRefund({ headers, body }: Call): void {
  for (const field of ['dry_run', 'idempotency_key', 'hold'])
    if (body()[field] !== undefined) throw badField(field, 'does not go with a refund')
  if (headers['x-idempotency-key'] !== undefined)
    throw badField('X-Idempotency-Key', 'does not go with a refund; a receipt is honoured once')
}

/** What was changed. Nothing was: it may be asked for again. Not known: it may not. */
function done<T>(result: T | Undone): T {
  if (result === 'not_done') throw unavailable()
  if (result === 'unknown') throw outcomeUnknown()
  return result
}

function unavailable(): ServiceError {
  return new ServiceError('store_unavailable', 'the store cannot be asked; nothing was changed')
}

function outcomeUnknown(): ServiceError {
  const message = 'the store did not answer in time; it may or may not have been done'
  return new ServiceError('outcome_unknown', message)
}

async function once<T>(honour: () => Promise<T>): Promise<T> {
  try {
    return await honour()
  } catch (error) {
    if (error instanceof NotRecorded) throw new ServiceError('disk_unwritable', error.message)
    if (error instanceof NotDone) throw unavailable()
    if (error instanceof NobodyKnows) throw outcomeUnknown()
    if (error instanceof Forgotten) throw new ServiceError('unknown_receipt', error.message)
    if (error instanceof UnderWay)
      throw new ServiceError('idempotency_in_progress', 'it is being used at this moment')
    if (error instanceof Conflict) throw new ServiceError('idempotency_conflict', error.message)
    throw error
  }
}
