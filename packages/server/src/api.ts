/** The whole HTTP interface, described: every part of it, in one OpenAPI document. */
import { HOT_API } from './admin/hot-api.js'
import { ADMIN_OPERATIONS } from './admin/operations.js'
import { ADMIN_SCHEMAS } from './admin/schemas.js'
import { USAGE_API } from './admin/usage-api.js'
import { type ApiPart, openApiOf } from './http/openapi.js'
import type { Schema } from './http/schema.js'
import { OPERATIONS } from './transports/rest/operations.js'
import { SCHEMAS } from './transports/rest/schemas.js'

const PARTS: readonly ApiPart[] = [
  { operations: OPERATIONS, schemas: SCHEMAS },
  { operations: ADMIN_OPERATIONS, schemas: ADMIN_SCHEMAS },
  USAGE_API,
  HOT_API,
]

export function openApiDocument(version: string): Schema {
  return openApiOf(version, PARTS)
}
