/** The whole HTTP interface, described: every part of it, in one OpenAPI document. */
import { type ApiPart, openApiOf } from './http/openapi.js'
import type { Schema } from './http/schema.js'
import { OPERATIONS } from './transports/rest/operations.js'
import { SCHEMAS } from './transports/rest/schemas.js'

const PARTS: readonly ApiPart[] = [{ operations: OPERATIONS, schemas: SCHEMAS }]

export function openApiDocument(version: string): Schema {
  return openApiOf(version, PARTS)
}
