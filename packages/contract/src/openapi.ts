/** Makes the OpenAPI document from the route contracts. */
import { FULL_ANSWERS } from './decisions/decision-fields.js'
import { ERROR_CODES, type ErrorCode } from './errors.js'
import { ErrorAnswer } from './errors-schema.js'
import { ROLE_MEANINGS, ROLES } from './roles.js'
import { ROUTE_IDS, type RouteId, routeOf } from './routes/index.js'
import type { RouteContract } from './routes/route.js'
import { PATH_PARAMETERS } from './routes/route-parts.js'
import { anyOf, type Keywords, propertiesOf, SchemaPrinter, type TSchema } from './schema.js'

export interface OpenApiOptions {
  readonly version: string
  /** Answers have the shape of the previous release. */
  readonly isFull?: boolean
}

const DECISION_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
]

/** Schemas of rules documents begin with a small letter, and some differ from those of answers only in that. */
const componentName = (name: string): string =>
  /^[a-z]/.test(name)
    ? `${name.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Input`
    : name

const headersOf = (names: readonly string[]): Keywords =>
  names.length === 0
    ? {}
    : {
        headers: Object.fromEntries(names.map((name) => [name, { schema: { type: 'string' } }])),
      }

class Printer {
  readonly schemas: SchemaPrinter

  constructor(isFull: boolean) {
    const others = isFull ? FULL_ANSWERS : undefined
    this.schemas = new SchemaPrinter('#/components/schemas/', others, componentName)
  }

  operation(id: RouteId): Keywords {
    const contract = routeOf(id)
    const { summary, body, deprecated } = contract
    const parameters = this.#parameters(contract)
    return {
      operationId: id,
      summary,
      ...access(contract),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(body === null ? {} : { requestBody: { required: true, ...this.#content(body) } }),
      ...(deprecated === undefined ? {} : { deprecated: true }),
      responses: this.#responses(contract),
    }
  }

  #content(schema: TSchema): Keywords {
    return { content: { 'application/json': { schema: this.schemas.print(schema) } } }
  }

  #parameters({ path, query, requiredQuery, headers }: RouteContract): Keywords[] {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const parameter = (where: string) => (entry: [string, TSchema]) => {
      const [name, schema] = entry
      const { description, deprecated, ...rest } = this.schemas.print(schema)
      return {
        name,
        in: where,
        ...(requiredQuery.includes(name) ? { required: true } : {}),
        ...(deprecated === true ? { deprecated } : {}),
        description,
        schema: rest,
      }
    }
    return [
      ...names.map((name) => ({
        name,
        in: 'path',
        required: true,
        description: PATH_PARAMETERS[name],
        schema: { type: 'string', minLength: 1 },
      })),
      ...Object.entries(propertiesOf(query)).map(parameter('query')),
      ...Object.entries(headers).map(parameter('header')),
    ]
  }

  #responses(contract: RouteContract): Keywords {
    const { answer, isDecision, errors, status, answerHeaders, alsoAnswers } = contract
    const body = answer === null ? {} : this.#content(answer)
    const headers = headersOf(isDecision ? DECISION_HEADERS : answerHeaders)
    const responses: Record<string, Keywords> = {
      [status]: { description: isDecision ? 'Allowed' : 'Done', ...headers, ...body },
    }
    if (isDecision) {
      const refused = answer === null ? {} : this.#content(anyOf([answer, ErrorAnswer]))
      responses['429'] = { description: 'Denied', ...headers, ...body }
      responses['503'] = {
        description: 'A rule refuses what it cannot count, or too many requests are waiting',
        ...refused,
      }
      responses['403'] = { description: 'Blocked, or forbidden', ...refused }
    }
    if (alsoAnswers !== undefined)
      responses[alsoAnswers.status] = { description: alsoAnswers.description, ...body }
    for (const code of new Set(errors.map((one) => ERROR_CODES[one].status)))
      responses[code] ??= {
        description: errorWords(errors.filter((one) => ERROR_CODES[one].status === code)),
        ...this.#content(ErrorAnswer),
      }
    return responses
  }
}

/** Who may ask. An empty requirement: no token is needed on loopback where none is configured. */
function access({ role }: RouteContract): Keywords {
  return role === 'anyone'
    ? { description: 'Needs no token.', security: [] }
    : { description: `Needs the role ${role}.`, security: [{}, { token: [role] }] }
}

const TOKEN_WORDS = [
  'Each operation names the role that it needs.',
  ...ROLES.map((role) => `\`${role}\` ${ROLE_MEANINGS[role]}.`),
  'Without a configured token, every local caller is `admin`.',
].join(' ')

const errorWords = (codes: readonly ErrorCode[]) =>
  codes.map((code) => `\`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n\n')

export function openApiDocument({ version, isFull = false }: OpenApiOptions): Keywords {
  const printer = new Printer(isFull)
  const paths: Record<string, Record<string, Keywords>> = {}
  for (const id of ROUTE_IDS) {
    const { path, method } = routeOf(id)
    const item = (paths[path] ??= {})
    item[method.toLowerCase()] = printer.operation(id)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description: 'Decides, for every request an API receives, whether it may pass now.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: printer.schemas.definitions,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: TOKEN_WORDS } },
    },
  }
}
