/** Holds answers against the service's own OpenAPI document. */
import { openApiDocument } from '@sluice/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Answer } from '../service.js'

const document = openApiDocument({ version: '0.0.0' }) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}
const ajv = new Ajv2020({ strict: false, allErrors: true })
// The package's types say that its default is a module.
;(addFormats as unknown as (to: Ajv2020) => void)(ajv)
ajv.addSchema({ $id: 'openapi', ...document })

const pointer = (...parts: string[]) =>
  parts
    .map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
    .join('')

/** What is untrue about an answer; empty if nothing is. */
export function untruths(method: string, path: string, answer: Answer): string[] {
  const operation = document.paths[path]?.[method.toLowerCase()]
  if (operation === undefined) return [`${method} ${path} is not in the document`]
  const response = operation.responses[String(answer.status)] as
    | { content?: Record<string, unknown> }
    | undefined
  if (response === undefined) return [`${answer.status} is not an answer of ${method} ${path}`]
  const type = answer.headers['content-type']?.split(';')[0]
  if (response.content === undefined) return []
  if (type === undefined || !(type in response.content)) return [`the answer is of type ${type}`]
  const at = pointer(
    'paths',
    path,
    method.toLowerCase(),
    'responses',
    String(answer.status),
    'content',
    type,
    'schema',
  )
  const validate = ajv.getSchema(`openapi#${at}`)
  if (validate === undefined) return [`there is no schema at ${at}`]
  if (validate(answer.body) === true) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** Whether a body is one that the document allows for a route. */
export function isAllowedBody(path: string, body: unknown): boolean {
  const at = pointer('paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema')
  return ajv.getSchema(`openapi#${at}`)!(body) === true
}
