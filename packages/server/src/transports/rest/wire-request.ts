/** The bodies of decision routes, read field by field: JSON outside, the library's request inside. */
import { type Request, SluiceError, type Units } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'
import { ServiceError } from '../../error-codes.js'
import { type Body, badField, isBody, refuseUnknown } from '../../http/body.js'

/** A request as it came, and the namespace it names. */
export interface WireRequest {
  readonly request: Request
  readonly namespace: string | undefined
}

/** Fields of a check, and what the library calls them. */
const CHECK_FIELDS = [
  'namespace',
  'subject',
  'scope',
  'identifier',
  'resource',
  'method',
  'cost',
  'costs',
  'tier',
  'dry_run',
  'idempotency_key',
  'hold',
] as const

const WIRE_NAMES: Readonly<Record<string, string>> = {
  idempotencyKey: 'idempotency_key',
  dryRun: 'dry_run',
  holdId: 'hold',
}

/** A check's fields; `more` are the route's own. */
export function readCheck(body: Body, more: readonly string[] = [], prefix = ''): WireRequest {
  refuseUnknown(body, [...CHECK_FIELDS, ...more], prefix)
  const { namespace, resource, method, cost, costs, tier } = body
  if (namespace !== undefined && typeof namespace !== 'string')
    throw badField(`${prefix}namespace`, `is ${quote(namespace)}; expected a text`)
  const request: Record<string, unknown> = { subject: readSubject(body, prefix) }
  if (resource !== undefined) request['resource'] = resource
  if (method !== undefined) request['method'] = method
  if (cost !== undefined) request['cost'] = cost
  if (costs !== undefined) request['costs'] = costs
  if (tier !== undefined) request['tier'] = tier
  if (body['dry_run'] !== undefined) request['dryRun'] = body['dry_run']
  if (body['idempotency_key'] !== undefined) request['idempotencyKey'] = body['idempotency_key']
  if (body['hold'] !== undefined) request['holdId'] = body['hold']
  return { request: request, namespace }
}

/** `subject`, or one `scope` with its `identifier`. */
function readSubject(body: Body, prefix: string): unknown {
  const { subject, scope, identifier } = body
  if (scope === undefined && identifier === undefined) {
    if (subject !== undefined) return subject
    throw badField(`${prefix}subject`, 'is missing; expected an object such as {"user": "ada"}')
  }
  if (subject !== undefined)
    throw badField(`${prefix}subject`, 'goes without scope and identifier; give one of them')
  if (typeof scope !== 'string')
    throw badField(`${prefix}scope`, `is ${quote(scope)}; expected a text such as "user"`)
  if (scope === 'global' && identifier === undefined) return {}
  if (typeof identifier !== 'string')
    throw badField(`${prefix}identifier`, `is ${quote(identifier)}; expected a text`)
  return Object.fromEntries([[scope, identifier]])
}

export const MOST_CHECKS = 1000

/** The checks of a batch, each with its fields read. */
export function readBatch(body: Body): WireRequest[] {
  refuseUnknown(body, ['checks'])
  const { checks } = body
  if (!Array.isArray(checks)) throw badField('checks', `is ${quote(checks)}; expected a list`)
  if (checks.length > MOST_CHECKS)
    throw badField('checks', `has ${checks.length} checks; expected ${MOST_CHECKS} at most`)
  return checks.map((check: unknown, i) => {
    if (isBody(check)) return readCheck(check, [], `checks[${i}].`)
    throw badField(`checks[${i}]`, `is ${quote(check)}; expected an object`)
  })
}

const UNIT = /^[a-z][a-z0-9_]{0,31}$/
const MOST_UNITS = 16

/** Amounts for giving back and settling, where 0 is an amount: `cost`, `costs`, or neither. */
export function readAmounts(body: Body): Units | null {
  const { cost, costs } = body
  if (cost !== undefined) wholeAmount('cost', cost)
  if (costs === undefined) return cost === undefined ? null : { requests: cost as number }
  if (!isBody(costs)) throw badField('costs', `is ${quote(costs)}; expected amounts by unit`)
  const units = Object.entries(costs)
  if (units.length > MOST_UNITS) throw badField('costs', `has more than ${MOST_UNITS} units`)
  for (const [unit, amount] of units) {
    if (!UNIT.test(unit)) throw badField('costs', `has ${quote(unit)}, which is not a unit's name`)
    wholeAmount(`costs.${unit}`, amount)
  }
  if (cost !== undefined && Object.hasOwn(costs, 'requests') && costs['requests'] !== cost)
    throw badField('costs.requests', `is ${quote(costs['requests'])}, and cost is ${quote(cost)}`)
  const requests = cost === undefined ? {} : { requests: cost as number }
  return { ...(costs as Units), ...requests }
}

function wholeAmount(field: string, amount: unknown): void {
  if (typeof amount === 'number' && Number.isInteger(amount) && amount >= 0 && amount <= 1e9) return
  throw badField(field, `is ${quote(amount)}; expected a whole number from 0 to 1000000000`)
}

/** What the library refuses, in the wire's words. Anything else is passed on. */
export function inWireWords(error: unknown, prefix = ''): unknown {
  if (!(error instanceof SluiceError)) return error
  const { code, field, message } = error
  if (code === 'idempotency_conflict' || code === 'idempotency_in_progress') {
    const said = message.replace('idempotencyKey', 'idempotency_key')
    return new ServiceError(code, said, { field: `${prefix}idempotency_key` })
  }
  if (code !== 'bad_request') return error
  if (field === undefined) return new ServiceError('bad_request', message)
  const named = `${prefix}${WIRE_NAMES[field] ?? field}`
  return new ServiceError('bad_request', `${named}${message.slice(field.length)}`, { field: named })
}
