/** Parameters, fields and errors that many routes have in common. */
import type { ErrorCode } from '../errors.js'
import { list, named, number, object, orNull, type TSchema, text, time, whole } from '../schema.js'

export const READ_ERRORS = [
  'bad_request',
  'unknown_namespace',
  'unauthorized',
  'forbidden',
  'not_a_control_plane',
  'limited',
  'busy',
  'database_unavailable',
] as const satisfies ErrorCode[]
export const WRITE_ERRORS = [
  ...READ_ERRORS,
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies ErrorCode[]
export const RULE_ERRORS = [
  ...WRITE_ERRORS,
  'conflict',
  'older_instances',
  'invalid_rules',
] as const satisfies ErrorCode[]
export const VERSION_ERRORS = ['stale_version', 'version_missing'] as const satisfies ErrorCode[]

/** What the segments in braces are. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'As the list has it.',
  scope: 'Such as `user`.',
  value: 'Percent-encoded.',
}

export const namespaceQuery = text(
  "The namespace; the caller's only one, else `default`, unless given.",
)

/** Of lists that come in pages. */
export const pageQuery = {
  cursor: text('The `next` of the page before.'),
  limit: whole(1, 1000, 'Items of a page; 100 unless given.'),
}

export const ifMatch = { 'If-Match': text('The `ETag` of what was read, or `*`.') }

export const id = text('What it is known by.')
export const namespace = text('The namespace it belongs to; `default` unless given.')
export const scope = text(
  'What is limited: `user`, `api_key`, `ip`, `org`, `global` or a name of your own.',
)
export const version = number('Counts the changes of this one.')
export const revision = number('Counts the changes of everything.')
export const createdAt = time('When it was made.')
export const until = orNull(time('When it ends by itself; null: never.'))
export const reason = orNull(text('Why, for people.', { maxLength: 1000 }))

/** One page of a list. */
export const page = <T extends TSchema>(name: string, item: T) =>
  named(
    name,
    object({
      items: list(item),
      next: orNull(text('The cursor of the next page; null on the last one.')),
    }),
  )

export const warnings = list(
  object({
    code: text('Which.'),
    field: text('The field that is meant.'),
    message: text('What is in doubt.'),
  }),
  'What was accepted and probably does not do what was meant.',
)
