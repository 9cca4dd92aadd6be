/** The words that the shapes of the wire are written in: JSON Schema 2020-12, as OpenAPI 3.1 has it. */

export type Schema = Readonly<Record<string, unknown>>

export const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  ...more,
})
export const orNull = (schema: Schema): Schema => ({
  ...schema,
  type: [schema['type'] as string, 'null'],
})
export const object = (
  properties: Record<string, Schema>,
  required: readonly string[] = Object.keys(properties),
  more: Schema = {},
): Schema => ({ type: 'object', properties, required, additionalProperties: false, ...more })
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const listOf = (items: Schema, more: Schema = {}): Schema => ({
  type: 'array',
  items,
  ...more,
})

export const PLAIN = '^[^\\u0000-\\u001f\\u007f]+$'
export const value = (description: string): Schema =>
  text(description, { minLength: 1, maxLength: 1024, pattern: PLAIN })
export const time = (description: string): Schema => text(description, { format: 'date-time' })
export const count = (description: string, most = 1_000_000_000): Schema => ({
  type: 'integer',
  minimum: 0,
  maximum: most,
  description,
})
export const seconds = (description: string): Schema => ({
  type: 'number',
  minimum: 0,
  description,
})
