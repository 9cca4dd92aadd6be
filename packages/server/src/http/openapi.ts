/** The OpenAPI document, from the schemas and a few lines about each operation. */
import { ERROR_CODES, type ErrorCode } from '../error-codes.js'
import { ref, type Schema } from './schema.js'

export interface Operation {
  readonly path: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly id: string
  readonly summary: string
  /** The body; none for a GET. */
  readonly takes?: string
  /** The body of the answer; null: none, or no JSON. */
  readonly gives: string | null
  /** Of an answer where all is well; 200 unless given. */
  readonly status?: 200 | 201 | 204
  /** Headers of that answer. */
  readonly headers?: readonly string[]
  /** Also the body of a denial. */
  readonly isDecision?: true
  readonly parameters?: readonly Schema[]
  readonly errors: readonly ErrorCode[]
  readonly isOpen?: true
  readonly isDeprecated?: true
}

/** A part of the interface: what can be asked, and the shapes of it. */
export interface ApiPart {
  readonly operations: readonly Operation[]
  readonly schemas: Readonly<Record<string, Schema>>
}

const json = (schema: Schema): Schema => ({ 'application/json': { schema } })

const headersOf = (names: readonly string[]): Schema =>
  Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }]))

const DECISION_HEADERS = headersOf([
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
])

function responsesOf(operation: Operation): Schema {
  const { gives, isDecision, errors, id, status = 200, headers } = operation
  const responses: Record<string, Schema> = {}
  const answer = gives === null ? {} : { content: json(ref(gives)) }
  responses[status] = {
    description: isDecision === true ? 'Allowed' : 'Done',
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    ...answer,
  }
  if (isDecision === true) {
    responses['200'] = { ...responses['200'], headers: DECISION_HEADERS }
    const no = gives === null ? {} : { content: json(ref(gives)) }
    responses['429'] = { description: 'Denied', headers: DECISION_HEADERS, ...no }
    responses['503'] = { description: 'A rule refuses what it cannot count', ...no }
    const refused = { anyOf: [ref(gives ?? 'Error'), ref('Error')] }
    const why = gives === null ? {} : { content: json(refused) }
    responses['403'] = { description: 'Blocked, or forbidden', ...why }
  }
  if (id === 'readiness')
    responses['503'] = { description: 'Not ready', content: json(ref('Readiness')) }
  for (const status of new Set(errors.map((code) => ERROR_CODES[code].status))) {
    const meanings = errors
      .filter((code) => ERROR_CODES[code].status === status)
      .map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`)
    responses[status] ??= { description: meanings.join('\n\n'), content: json(ref('Error')) }
  }
  return responses
}

export function openApiOf(version: string, parts: readonly ApiPart[]): Schema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of parts.flatMap(({ operations }) => operations)) {
    const { path, method, id, summary, takes, parameters, isOpen, isDeprecated } = operation
    const item = paths[path] ?? {}
    item[method] = {
      operationId: id,
      summary,
      ...(parameters === undefined ? {} : { parameters }),
      ...(takes === undefined
        ? {}
        : { requestBody: { required: true, content: json(ref(takes)) } }),
      ...(isOpen === true ? { security: [] } : {}),
      ...(isDeprecated === true ? { deprecated: true } : {}),
      responses: responsesOf(operation),
    }
    paths[path] = item
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'Decides, for every request an API receives, whether it may pass now.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)) as Schema,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}
