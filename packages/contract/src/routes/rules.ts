/** Routes of single rules and their versions. */
import type { RuleInput } from '@sluice/limiter'
import { LONGEST_LABEL, OWN_FIELDS, RULE_FIELDS } from '@sluice/limiter/transport'
import { LABEL_PATTERN, whole as wholeText } from '../rules/names.js'
import { type AnsweredFields, fieldSchema, RULE_FIELD_CONTRACTS } from '../rules/rule-fields.js'
import { flag, named, object, orNull, raw, type Static, text, time, whole } from '../schema.js'
import { route } from './route.js'
import {
  id,
  ifMatch,
  namespace,
  namespaceQuery,
  page,
  pageQuery,
  READ_ERRORS,
  RULE_ERRORS,
  revision,
  VERSION_ERRORS,
  version,
  warnings,
} from './route-parts.js'

/** Read-only fields. A write may contain them unchanged, so that an answer can be sent back. */
export const FIXED_RULE_FIELDS = {
  id,
  namespace,
  version,
  created_at: orNull(time('When it was created; null for a rule of a file.')),
  updated_at: orNull(time('When it was last changed; null for a rule of a file.')),
}

const name = text('The name, unique in its namespace.')

const answers = Object.fromEntries(
  OWN_FIELDS.filter((field) => RULE_FIELD_CONTRACTS[field].answer !== null).map((field) => [
    field,
    fieldSchema(field, 'answer'),
  ]),
)

/** A rule as the API answers it. */
export interface RuleBody extends AnsweredFields {
  readonly id: string
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly created_at: string | null
  readonly updated_at: string | null
  readonly warnings?: readonly Static<typeof warnings>[number][]
}

const { created_at, updated_at } = FIXED_RULE_FIELDS
export const Rule = named(
  'Rule',
  raw<RuleBody>(
    object({ id, name, namespace, ...answers, version, created_at, updated_at }, { warnings }),
  ),
)

/** Optional fields may be null, so that an answer can be sent back. */
const inputs = (isRequired: boolean) =>
  Object.fromEntries(
    OWN_FIELDS.filter((field) => RULE_FIELDS[field].isRequired === isRequired).map((field) => {
      const schema = fieldSchema(field, 'input')
      return [field, isRequired ? schema : orNull(schema)]
    }),
  )
const answered = { ...FIXED_RULE_FIELDS, warnings }
type RuleWrite = Partial<RuleInput> & { readonly name?: string; readonly namespace?: string }

const RuleWrite = named(
  'RuleInput',
  raw<RuleWrite>(object({ name, ...inputs(true) }, { ...inputs(false), ...answered })),
)
const RulePatch = named(
  'RulePatch',
  raw<RuleWrite>(
    object({}, { name: text('The new name.'), ...inputs(true), ...inputs(false), ...answered }),
  ),
)

const RuleVersion = named(
  'RuleVersion',
  object({
    version,
    at: time('When this version was written.'),
    actor: text('Who wrote it.'),
    revision,
    deleted: flag('Whether this version deleted the rule; `rule` is then its last state.'),
    rule: Rule,
  }),
)

export const ruleRoutes = {
  listRules: route({
    method: 'GET',
    path: '/v1/rules',
    role: 'reader',
    summary: 'List the rules of a namespace, by name',
    query: {
      scope: text('Only rules of this scope.'),
      resource: text('Only rules of this resource, spelled as in the rule.'),
      label: text('Only rules with this label: `team:search`, or `team` with any value.', {
        pattern: wholeText(`${LABEL_PATTERN}(?::[^]{1,${LONGEST_LABEL}})?`),
        expected: `a label such as team:search, or its key alone; key and value have at most ${LONGEST_LABEL} characters each`,
      }),
      namespace: namespaceQuery,
      ...pageQuery,
    },
    answer: page('Rules', Rule),
    errors: READ_ERRORS,
  }),
  createRule: route({
    method: 'POST',
    path: '/v1/rules',
    role: 'admin',
    summary: 'Create a rule; the first rule of a namespace creates the namespace',
    body: RuleWrite,
    bodyCheckedBy: 'handler',
    answer: Rule,
    status: 201,
    answerHeaders: ['ETag', 'Location'],
    errors: [...RULE_ERRORS, 'rules_from_file'],
  }),
  getRule: route({
    method: 'GET',
    path: '/v1/rules/{id}',
    role: 'reader',
    summary: 'Get a rule',
    query: { namespace: namespaceQuery },
    answer: Rule,
    answerHeaders: ['ETag'],
    errors: [...READ_ERRORS, 'not_found'],
  }),
  replaceRule: route({
    method: 'PUT',
    path: '/v1/rules/{id}',
    role: 'admin',
    summary: 'Replace a rule; this makes a new version',
    headers: ifMatch,
    body: RuleWrite,
    bodyCheckedBy: 'handler',
    answer: Rule,
    answerHeaders: ['ETag'],
    errors: [...RULE_ERRORS, ...VERSION_ERRORS, 'rules_from_file', 'not_found'],
  }),
  patchRule: route({
    method: 'PATCH',
    path: '/v1/rules/{id}',
    role: 'admin',
    summary: 'Change some fields of a rule (a merge patch); null removes a field',
    headers: ifMatch,
    body: RulePatch,
    bodyCheckedBy: 'handler',
    answer: Rule,
    answerHeaders: ['ETag'],
    errors: [...RULE_ERRORS, ...VERSION_ERRORS, 'rules_from_file', 'not_found'],
  }),
  deleteRule: route({
    method: 'DELETE',
    path: '/v1/rules/{id}',
    role: 'admin',
    summary: 'Delete a rule and its overrides; its history stays',
    headers: ifMatch,
    status: 204,
    errors: [...RULE_ERRORS, ...VERSION_ERRORS, 'rules_from_file', 'not_found'],
  }),
  ruleHistory: route({
    method: 'GET',
    path: '/v1/rules/{id}/history',
    role: 'reader',
    summary: 'List every version of a rule, newest first; also of a deleted one',
    query: pageQuery,
    answer: page('RuleVersions', RuleVersion),
    errors: [...READ_ERRORS, 'rules_from_file', 'not_found'],
  }),
  rollbackRule: route({
    method: 'POST',
    path: '/v1/rules/{id}/rollback',
    role: 'admin',
    summary: 'Restore an earlier version of a rule; this makes a new version',
    headers: ifMatch,
    body: named(
      'Rollback',
      object({
        version: whole(1, Number.MAX_SAFE_INTEGER, 'A version in the history of the rule.', {
          expected: "a version of the rule's history",
        }),
      }),
    ),
    answer: Rule,
    answerHeaders: ['ETag'],
    errors: [...RULE_ERRORS, 'stale_version', 'rules_from_file', 'not_found'],
  }),
}
