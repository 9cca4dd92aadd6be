/** How `GET /v1/auth` states each field of a request: a header, or not at all. */
import { type TSchema, text } from '../schema.js'
import type { RequestField } from './request-fields.js'

interface RequestHeader {
  readonly name: string
  readonly description: string
  /** Read only where the setting `auth_headers` names it: a client could send it. */
  readonly isOptional?: true
}

/** A field of requests that is missing here does not compile. Scopes have a header each. */
const HEADERS = {
  namespace: null,
  subject: null,
  scope: null,
  identifier: null,
  resource: {
    name: 'X-Sluice-Resource',
    description: 'The resource of the request. It is normalised.',
  },
  method: { name: 'X-Sluice-Method', description: 'Its method.' },
  cost: { name: 'X-Sluice-Cost', description: 'Requests to be charged', isOptional: true },
  costs: null,
  tier: { name: 'X-Sluice-Tier', description: 'Its tier', isOptional: true },
  dry_run: null,
  idempotency_key: {
    name: 'X-Idempotency-Key',
    description: 'The same key and request within 5 minutes is counted once',
    isOptional: true,
  },
  hold: null,
} as const satisfies { readonly [F in RequestField]: RequestHeader | null }

type Hyphenated<S extends string> = S extends `${infer A}_${infer B}` ? `${A}-${Hyphenated<B>}` : S
type OptionalField = {
  [F in RequestField]: (typeof HEADERS)[F] extends { isOptional: true } ? F : never
}[RequestField]

/** A header that is read only where a setting allows it, by the field's name with hyphens. */
export type AuthHeader = Hyphenated<OptionalField>

const stated = (Object.entries(HEADERS) as [RequestField, RequestHeader | null][]).flatMap(
  ([field, header]) => (header === null ? [] : [{ field, ...header }]),
)
const hyphenated = (field: string) => field.replaceAll('_', '-')

/** The fields that headers can state, with the headers. */
export const REQUEST_HEADERS: readonly (RequestHeader & { readonly field: RequestField })[] = stated

export const AUTH_HEADERS = stated
  .filter(({ isOptional }) => isOptional)
  .map(({ field }) => hyphenated(field)) as AuthHeader[]

/** The fields that are read where these optional headers are allowed. */
export function fieldsInHeaders(allowed: readonly AuthHeader[]): typeof REQUEST_HEADERS {
  return stated.filter(
    ({ field, isOptional }) => !isOptional || allowed.includes(hyphenated(field) as AuthHeader),
  )
}

/** For the description of the route. */
export const headerSchemas = (): Record<string, TSchema> =>
  Object.fromEntries(
    stated.map(({ field, name, description, isOptional }) => [
      name,
      text(
        isOptional
          ? `${description}; read only with \`--auth-headers ${hyphenated(field)}\`.`
          : description,
      ),
    ]),
  )
