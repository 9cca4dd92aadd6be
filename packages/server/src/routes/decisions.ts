/** Handlers of the routes that decide, give back and explain. The fast path answers plain checks without them. */
import {
  type AnswerBody,
  type DecisionBody,
  type Include,
  isoTime,
  type LimitBody,
  printLimitDecision,
  type RequestBody,
  type RouteIdsOf,
  type Routes,
} from '@sluice/contract'
import type { Request } from '@sluice/limiter'
import type { DecisionRecord, NotConfirmed } from '@sluice/limiter/transport'
import type { Decisions } from '../decisions.js'
import { ServiceError } from '../error-codes.js'
import { type Body, badField } from '../http/body.js'
import type { Call, Handlers, Reply } from '../http/route.js'
import { answerOf, statusOf } from '../http/wire-answer.js'
import {
  inWireWords,
  readAmounts,
  readBatch,
  readCheck,
  readInclude,
} from '../http/wire-request.js'
import { Forgotten, InProgress, NotDone, NotRecorded, OutcomeUnknown } from '../receipts/once.js'
import { Conflict } from '../receipts/vouchers.js'
import { namespaceOf, requireRole } from '../security/caller.js'
import { traced } from '../telemetry/tracing.js'
import type { Tenant } from '../tenants.js'

/** A request, and the tenant of its namespace. */
interface Asked {
  readonly request: Request
  readonly tenant: Tenant
}

/** What is read of a call besides its body. */
type CallHead = Pick<Call, 'caller' | 'headers'>
/** A call whose answer is a decision. */
type CheckCall = Call<Routes['check']>

export function decisionHandlers(decisions: Decisions): Handlers<RouteIdsOf<'decisions'>> {
  const { tenants, vouchers } = decisions

  const headersOf = (decision: DecisionRecord) => decision.toHeaders(decisions.headerFamilies)

  /** The tenant of a namespace. Throws 403 where the caller's token is not for it, 400 where it is not served here. */
  const tenantOf = ({ caller }: CallHead, stated: string | undefined, prefix = ''): Tenant =>
    tenants.require(namespaceOf(caller, stated, tenants.home), `${prefix}namespace`)

  /** The same for a receipt, reservation or hold: it says its namespace where the request does not. */
  const tenantOfSealed = (call: CallHead, stated: string | undefined, sealed: string): Tenant =>
    tenantOf(call, stated ?? vouchers.namespaceOf(sealed) ?? undefined)

  const single = (call: CallHead, fields: Body, also: readonly string[] = []): Asked => {
    const { request, namespace } = readCheck(fields, '', also)
    return { request: withKey(request, call), tenant: tenantOf(call, namespace) }
  }

  const decide = async ({ request, tenant }: Asked, call: CallHead): Promise<DecisionRecord> => {
    const started = performance.now()
    const decision = await traced(call.headers, async () => decisions.decide(tenant, request))
    decisions.observer.took('rest', (performance.now() - started) / 1000, 1)
    return decision
  }

  const kindOf = (include: readonly Include[], { request }: Asked, isReservation = false) => ({
    include,
    isFull: decisions.answers === 'full',
    isReservation,
    hasOwnHold: request.holdId !== undefined,
  })

  /** Decides a request, takes its cost, and answers. */
  const decided = async (call: CheckCall, isReservation: boolean): Promise<Reply<DecisionBody>> => {
    const { asked, include } = checkOf(call)
    const decision = await decide(asked, call)
    const body = answerOf(decision, vouchers, kindOf(include, asked, isReservation))
    return { status: statusOf(decision), headers: headersOf(decision), body }
  }

  /** The request of a check, and what its answer includes. */
  const checkOf = (call: CheckCall) => {
    const { include, ...fields } = call.body()
    return {
      asked: single(call, fields, ['include']),
      include: readInclude(include, call.query().include),
    }
  }

  /** All checks of the batch were found good before. If one fails now, the error is the answer of that one. */
  const decideOne = async (
    asked: Asked,
    i: number,
    call: CallHead,
    include: readonly Include[],
  ): Promise<AnswerBody<'checkBatch'>['results'][number]> => {
    try {
      return answerOf(await decide(asked, call), vouchers, kindOf(include, asked))
    } catch (error) {
      const said = inWireWords(error, `checks[${i}].`)
      if (!(said instanceof ServiceError)) throw said
      return { error: said.toJSON() }
    }
  }

  const peek = async ({ request, tenant }: Asked): Promise<DecisionRecord> =>
    (await tenant.limiter.peek(request)) as unknown as DecisionRecord

  const limitsOf = async ({ request, tenant }: Asked): Promise<readonly LimitBody[]> => {
    const { idempotencyKey: _key, holdId: _hold, ...rest } = request
    return (await peek({ request: rest, tenant })).limits.map((limit) =>
      printLimitDecision(limit, decisions.answers === 'full'),
    )
  }

  /** The hold of a sealed text, or of the caller's own id with its request. Null where the text was not sealed here. */
  const holdOf = (call: CallHead, body: RequestBody<'renew'>) => {
    const { hold, namespace, ...own } = body
    if (Object.keys(own).length > 0) {
      const { request, tenant } = single(call, body)
      return { limiter: tenant.limiter, hold: request as Request & { holdId: string } }
    }
    const { limiter } = tenantOfSealed(call, namespace, hold)
    return { limiter, hold: vouchers.openHold(limiter, hold) }
  }

  return inWords({
    check: (call) => decided(call, false),

    async checkBatch(call) {
      if (call.headers['x-idempotency-key'] !== undefined)
        throw badField(
          'X-Idempotency-Key',
          'goes with a single check; give each its idempotency_key',
        )
      const body = call.body()
      const include = readInclude(body.include, call.query().include)
      const checks = readBatch(body, ({ request, namespace }, prefix): Asked => {
        const tenant = tenantOf(call, namespace, prefix)
        tenant.limiter.validate(request)
        return { request, tenant }
      })
      const results = await Promise.all(checks.map((one, i) => decideOne(one, i, call, include)))
      return { status: 200, body: { results } }
    },

    async quota(call) {
      const { asked, include } = checkOf(call)
      // `peek` takes nothing anyway, so it does not check dry_run.
      asked.tenant.limiter.validate(asked.request)
      const decision = await peek(asked)
      const body = answerOf(decision, vouchers, kindOf(include, asked))
      return { status: 200, headers: headersOf(decision), body }
    },

    async refund(call) {
      const body = call.body()
      const { receipt, ...fields } = body
      refuseKey(call)
      if (receipt === undefined) {
        requireRole(call.caller, 'operator')
        const asked = single(call, fields)
        const refunded = done(await asked.tenant.limiter.changes.grant(asked.request))
        return { status: 200, body: { refunded, limits: await limitsOf(asked) } }
      }
      const amounts = readAmounts(body)
      const { cost: _cost, costs: _costs, ...rest } = fields
      const names = [rest.subject, rest.scope, rest.identifier].some((one) => one !== undefined)
      const { request, namespace } = readCheck(names ? rest : { ...rest, subject: {} })
      const tenant = tenantOfSealed(call, namespace, receipt)
      const refunded = await once(() => vouchers.refund(tenant.limiter, receipt, amounts))
      if (refunded === null) throw unknown('receipt')
      const limits = names ? await limitsOf({ request, tenant }) : []
      return { status: 200, body: { refunded, limits } }
    },

    async reset(call) {
      const { rule, ...fields } = call.body()
      const { request, namespace } = readCheck(fields)
      const { limiter } = tenantOf(call, namespace)
      const count = done(await limiter.changes.reset(request.subject ?? {}, rule))
      return { status: 200, body: { reset: count } }
    },

    reserve: (call) => decided(call, true),

    async settle(call) {
      const body = call.body()
      const used = readAmounts(body)
      if (used === null)
        throw badField('cost', 'is missing; expected what was really used, or costs')
      const { reservation } = body
      const { limiter } = tenantOfSealed(call, body.namespace, reservation)
      const settled = await once(() => vouchers.settle(limiter, reservation, used))
      if (settled === null) throw unknown('reservation')
      return { status: 200, body: settled }
    },

    async renew(call) {
      const body = call.body()
      const { limiter, hold } = holdOf(call, body)
      const expiry = hold === null ? null : done(await limiter.changes.renew(hold))
      if (expiry === null)
        throw new ServiceError('lost', 'the hold is not held any more', { field: 'hold' })
      return { status: 200, body: { hold: body.hold, hold_expires_at: isoTime(expiry) } }
    },

    async release(call) {
      const { limiter, hold } = holdOf(call, call.body())
      const released = hold === null ? false : done(await limiter.changes.release(hold))
      return { status: 200, body: { released } }
    },

    async explain(call) {
      const { normalize, ...fields } = call.body()
      const asked = single(call, fields)
      const { request, tenant } = asked
      const explained = await tenant.limiter.explain(
        normalize === undefined ? request : { ...request, normalize },
      )
      const { resource, isNormalized, applied, setAside, absentScopes, tiers, cost } = explained
      const decision = explained.decision as unknown as DecisionRecord
      const body = {
        decision: answerOf(decision, vouchers, kindOf(['limits'], asked)),
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
    },
  })
}

/** Errors of the library name fields as callers send them. */
function inWords<H extends Handlers<RouteIdsOf<'decisions'>>>(handlers: H): H {
  const said = Object.entries(handlers).map(([id, handle]) => [
    id,
    async (call: never) => {
      try {
        return await handle(call)
      } catch (error) {
        throw inWireWords(error)
      }
    },
  ])
  return Object.fromEntries(said) as H
}

/** The request with the idempotency key of the header, where it is sent as one. */
function withKey(request: Request, { headers }: CallHead): Request {
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

/** A refund would ignore an idempotency key, so sending one is an error. */
function refuseKey({ headers }: CallHead): void {
  if (headers['x-idempotency-key'] !== undefined)
    throw badField('X-Idempotency-Key', 'does not go with a refund; a receipt is honoured once')
}

/** The result of a change. Throws `store_unavailable` where nothing was done, `outcome_unknown` where that is not known. */
function done<T>(result: T | NotConfirmed): T {
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

/** Runs what may be done only once, and turns its errors into those of the API. */
async function once<T>(honour: () => Promise<T>): Promise<T> {
  try {
    return await honour()
  } catch (error) {
    if (error instanceof NotRecorded) throw new ServiceError('disk_unwritable', error.message)
    if (error instanceof NotDone) throw unavailable()
    if (error instanceof OutcomeUnknown) throw outcomeUnknown()
    if (error instanceof Forgotten) throw new ServiceError('unknown_receipt', error.message)
    if (error instanceof InProgress)
      throw new ServiceError('idempotency_in_progress', 'it is being used at this moment')
    if (error instanceof Conflict) throw new ServiceError('idempotency_conflict', error.message)
    throw error
  }
}
