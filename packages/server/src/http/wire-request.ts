/** The bodies of decision routes, read field by field: JSON outside, the library's request inside. */
import {
  type Include,
  include,
  MOST_CHECKS,
  REQUEST_FIELD_NAMES,
  type RequestField,
  validate,
  WIRE_NAMES,
} from '@sluice/contract'
import { type Request, SluiceError, type Units } from '@sluice/limiter'
import { MOST_UNIT_COST, quote, readUnits, wholeNumber } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { type Body, badField, isBody, refuseUnknown } from './body.js'

/** A request as it came, and the namespace it names. */
export interface WireRequest {
  readonly request: Request
  readonly namespace: string | undefined
}

/** The library's fields that a check may have, with their names on the wire; the subject is read apart. */
const SENT = (Object.entries(WIRE_NAMES) as [string, RequestField | null][]).filter(
  (entry): entry is [string, RequestField] => entry[1] !== null && entry[1] !== 'subject',
)

/** A check's fields; those that a route has besides, `also`, must be taken out before. */
export function readCheck(body: Body, prefix = '', also: readonly string[] = []): WireRequest {
  refuseUnknown(body, [...REQUEST_FIELD_NAMES, ...also], prefix)
  const { namespace } = body
  if (namespace !== undefined && typeof namespace !== 'string')
    throw badField(`${prefix}namespace`, `is ${quote(namespace)}; expected a text`)
  const request: Record<string, unknown> = { subject: readSubject(body, prefix) }
  for (const [field, name] of SENT) if (body[name] !== undefined) request[field] = body[name]
  return { request, namespace }
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
    throw badField(`${prefix}scope`, `${isWhat(scope)}; expected a text such as "user"`)
  if (scope === 'global' && identifier === undefined) return {}
  if (typeof identifier !== 'string')
    throw badField(`${prefix}identifier`, `${isWhat(identifier)}; expected a text`)
  return Object.fromEntries([[scope, identifier]])
}

const isWhat = (value: unknown) => (value === undefined ? 'is missing' : `is ${quote(value)}`)

/** What an answer is to have besides, from the body or the query. */
export function readInclude(stated: unknown, inQuery: string | undefined): readonly Include[] {
  if (inQuery !== undefined && stated !== undefined)
    throw badField('include', 'is in the query too; give one of them')
  const words = inQuery?.split(',') ?? stated
  if (words === undefined) return []
  const [fault] = validate(include, words, 'include')
  if (fault !== undefined) throw badField(fault.field, fault.message)
  return words as readonly Include[]
}

/**
 * The checks of a batch, each read and given to `use`; throws with every one that is refused. A fault's
 * field is `checks[2].cost`.
 */
export function readBatch<T>(body: Body, use: (check: WireRequest, prefix: string) => T): T[] {
  refuseUnknown(body, ['checks', 'include'])
  const { checks } = body
  if (!Array.isArray(checks)) throw badField('checks', `${isWhat(checks)}; expected a list`)
  if (checks.length > MOST_CHECKS)
    throw badField('checks', `has ${checks.length} checks; expected ${MOST_CHECKS} at most`)
  const refused: ServiceError[] = []
  const read = checks.flatMap((check: unknown, i) => {
    try {
      return [use(readBatched(check, i), `checks[${i}].`)]
    } catch (error) {
      const said = inWireWords(error, `checks[${i}].`)
      if (!(said instanceof ServiceError)) throw said
      refused.push(said)
      return []
    }
  })
  if (refused[0] !== undefined) throw withFaults(refused[0], refused)
  return read
}

function readBatched(check: unknown, i: number): WireRequest {
  if (!isBody(check)) throw badField(`checks[${i}]`, `is ${quote(check)}; expected an object`)
  if (check['include'] !== undefined)
    throw badField(`checks[${i}].include`, 'goes with the whole batch, beside checks')
  return readCheck(check, `checks[${i}].`)
}

function withFaults({ code, message, field }: ServiceError, all: readonly ServiceError[]) {
  const faults = all.map((one) => {
    const where = one.field ?? 'checks'
    const isNamed = one.message.startsWith(`${where} `)
    return { field: where, message: isNamed ? one.message.slice(where.length + 1) : one.message }
  })
  return new ServiceError(code, message, { ...(field === undefined ? {} : { field }), faults })
}

/** Amounts for giving back and settling, where 0 is an amount: `cost`, `costs`, or neither. */
export function readAmounts({ cost, costs }: Body): Units | null {
  if (cost !== undefined) wholeNumber('cost', cost, 0, MOST_UNIT_COST)
  if (costs === undefined) return cost === undefined ? null : { requests: cost as number }
  const units = readUnits(costs, 0)
  if (cost !== undefined && Object.hasOwn(units, 'requests') && units['requests'] !== cost)
    throw badField('costs.requests', `is ${quote(units['requests'])}, and cost is ${quote(cost)}`)
  return cost === undefined ? units : { ...units, requests: cost as number }
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
  const named = `${prefix}${wireName(field)}`
  return new ServiceError('bad_request', `${named}${message.slice(field.length)}`, { field: named })
}

function wireName(field: string): string {
  return WIRE_NAMES[field as keyof typeof WIRE_NAMES] ?? field
}
