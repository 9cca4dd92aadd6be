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

/** The path parameters, by the names in braces. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'The id, as the list answers it.',
  scope: 'The scope, such as `user`.',
  value: 'The value of the scope, percent-encoded.',
}

export const namespaceQuery = text(
  "The namespace. Unless given: the token's only one, else `default`.",
)

/** Query parameters of lists that are answered in pages. */
export const pageQuery = {
  cursor: text('The `next` of the previous page.'),
  limit: whole(1, 1000, 'Items in a page; 100 unless given.'),
}

export const ifMatch = {
  'If-Match': text('The `ETag` of the version to be changed, or `*` for any.'),
}

export const id = text('The id.')
export const namespace = text('The namespace it belongs to; `default` unless given.')
export const scope = text(
  'What is limited: `user`, `api_key`, `ip`, `org`, `global` or a name of your own.',
)
export const version = number('The version. Each change of this item makes a new one.')
export const revision = number('The revision. Each change of anything makes a new one.')
export const createdAt = time('When it was created.')
export const until = orNull(time('When it ends by itself; null: never.'))
export const reason = orNull(text('The reason, for people to read.', { maxLength: 1000 }))

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
    code: text("The warning's code."),
    field: text('The field that the warning is about.'),
    message: text('Why this is probably not what was meant.'),
  }),
  'Fields that were accepted and probably do not do what was meant.',
)
