/** What can be asked of the admin routes, one entry each: a part of the OpenAPI document. */
import type { ErrorCode } from '../error-codes.js'
import type { Operation } from '../http/openapi.js'
import type { Schema } from '../http/schema.js'

const READ: readonly ErrorCode[] = [
  'bad_request',
  'unauthorized',
  'forbidden',
  'not_a_control_plane',
  'limited',
  'database_unavailable',
]
const WRITE: readonly ErrorCode[] = [...READ, 'payload_too_large', 'unsupported_media_type']
const RULES: readonly ErrorCode[] = [...WRITE, 'conflict', 'invalid_rules']
const VERSIONED: readonly ErrorCode[] = ['stale_version', 'version_missing']

const query = (name: string, description: string, schema: Schema = { type: 'string' }): Schema => ({
  name,
  in: 'query',
  description,
  schema,
})
const path = (name: string, description: string): Schema => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', minLength: 1 },
})
const NAMESPACE = query('namespace', "The caller's only one, else `default`.")
const PAGE = [
  query('cursor', 'What the page before gave as `next`.'),
  query('limit', 'How many.', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
]
const ID = path('id', 'As the list has it.')
const SUBJECT = [path('scope', 'Such as `user`.'), path('value', 'Percent-encoded.')]
const IF_MATCH: Schema = {
  name: 'If-Match',
  in: 'header',
  description: 'The `ETag` of what was read, or `*`.',
  schema: { type: 'string' },
}

const ruleOperations: readonly Operation[] = [
  {
    path: '/v1/rules',
    method: 'get',
    id: 'listRules',
    summary: 'The rules of a namespace, by name',
    gives: 'Rules',
    parameters: [
      query('scope', 'Only of this scope.'),
      query('resource', 'Only of this resource, as it is written.'),
      NAMESPACE,
      ...PAGE,
    ],
    errors: READ,
  },
  {
    path: '/v1/rules',
    method: 'post',
    id: 'createRule',
    summary: 'A new rule; its namespace begins with its first',
    takes: 'RuleInput',
    gives: 'Rule',
    status: 201,
    headers: ['ETag', 'Location'],
    errors: RULES,
  },
  {
    path: '/v1/rules/{id}',
    method: 'get',
    id: 'getRule',
    summary: 'One rule',
    gives: 'Rule',
    headers: ['ETag'],
    parameters: [ID, NAMESPACE],
    errors: [...READ, 'not_found'],
  },
  {
    path: '/v1/rules/{id}',
    method: 'put',
    id: 'replaceRule',
    summary: 'Another rule in its place: a new version',
    takes: 'RuleInput',
    gives: 'Rule',
    headers: ['ETag'],
    parameters: [ID, IF_MATCH],
    errors: [...RULES, ...VERSIONED, 'not_found'],
  },
  {
    path: '/v1/rules/{id}',
    method: 'patch',
    id: 'patchRule',
    summary: 'Changes some fields (a merge patch); null takes one away',
    takes: 'RulePatch',
    gives: 'Rule',
    headers: ['ETag'],
    parameters: [ID, IF_MATCH],
    errors: [...RULES, ...VERSIONED, 'not_found'],
  },
  {
    path: '/v1/rules/{id}',
    method: 'delete',
    id: 'deleteRule',
    summary: 'Takes a rule away, and the overrides of it; its history stays',
    gives: null,
    status: 204,
    parameters: [ID, IF_MATCH],
    errors: [...RULES, ...VERSIONED, 'not_found'],
  },
  {
    path: '/v1/rules/{id}/history',
    method: 'get',
    id: 'ruleHistory',
    summary: 'Every version it had, newest first; also of a rule that is gone',
    gives: 'RuleVersions',
    parameters: [ID, ...PAGE],
    errors: [...READ, 'rules_from_file', 'not_found'],
  },
  {
    path: '/v1/rules/{id}/rollback',
    method: 'post',
    id: 'rollbackRule',
    summary: 'Makes it what it was: a new version',
    takes: 'Rollback',
    gives: 'Rule',
    headers: ['ETag'],
    parameters: [ID, IF_MATCH],
    errors: [...RULES, 'stale_version', 'not_found'],
  },
]

const subjectOperations: readonly Operation[] = [
  {
    path: '/v1/subjects/{scope}/{value}/limits',
    method: 'get',
    id: 'subjectLimits',
    summary: 'What holds for a subject now: each limit, why it applies, and what is left',
    gives: 'SubjectLimits',
    parameters: [
      ...SUBJECT,
      query('resource', 'What is asked for.'),
      query('method', 'With which method.'),
      NAMESPACE,
    ],
    errors: READ,
  },
  {
    path: '/v1/subjects/{scope}/{value}/tier',
    method: 'put',
    id: 'setTier',
    summary: 'Puts a subject into a tier; null takes it out',
    takes: 'TierInput',
    gives: 'Tier',
    parameters: [...SUBJECT, NAMESPACE],
    errors: WRITE,
  },
  {
    path: '/v1/subjects/{scope}/{value}/override',
    method: 'post',
    id: 'setOverride',
    summary: 'Other limits of one rule for one subject, until a time; in the place of what was',
    takes: 'OverrideInput',
    gives: 'Override',
    status: 201,
    headers: ['Location'],
    parameters: [...SUBJECT, NAMESPACE],
    errors: [...WRITE, 'invalid_rules'],
  },
  {
    path: '/v1/subjects/{scope}/{value}/override',
    method: 'delete',
    id: 'deleteOverride',
    summary: "The rule's own limits again",
    gives: null,
    status: 204,
    parameters: [...SUBJECT, { ...query('rule', "The rule's name."), required: true }, NAMESPACE],
    errors: [...WRITE, 'not_found'],
  },
]

const lists = [
  { path: '/v1/exemptions', name: 'Exemption', whom: 'let through all rules' },
  { path: '/v1/blocks', name: 'Block', whom: 'refused before any rule' },
] as const

const listOperations: readonly Operation[] = lists.flatMap(({ path, name, whom }): Operation[] => [
  {
    path,
    method: 'get',
    id: `list${name}s`,
    summary: `Who is ${whom}`,
    gives: 'ListedPage',
    parameters: [NAMESPACE, ...PAGE],
    errors: READ,
  },
  {
    path,
    method: 'post',
    id: `create${name}`,
    summary: `One more who is ${whom}`,
    takes: 'ListedInput',
    gives: 'Listed',
    status: 201,
    headers: ['Location'],
    parameters: [NAMESPACE],
    errors: WRITE,
  },
  {
    path: `${path}/{id}`,
    method: 'delete',
    id: `delete${name}`,
    summary: `One less who is ${whom}`,
    gives: null,
    status: 204,
    parameters: [ID],
    errors: [...WRITE, 'not_found'],
  },
])

const costOperations: readonly Operation[] = [
  {
    path: '/v1/costs',
    method: 'get',
    id: 'listCosts',
    summary: 'What requests cost where they do not say',
    gives: 'Costs',
    parameters: [NAMESPACE, ...PAGE],
    errors: READ,
  },
  {
    path: '/v1/costs',
    method: 'put',
    id: 'setCost',
    summary: 'What a request to a resource costs; in the place of what was',
    takes: 'CostInput',
    gives: 'Cost',
    parameters: [NAMESPACE],
    errors: RULES,
  },
  {
    path: '/v1/costs/{id}',
    method: 'delete',
    id: 'deleteCost',
    summary: 'Takes a cost away',
    gives: null,
    status: 204,
    parameters: [ID],
    errors: [...RULES, 'not_found'],
  },
]

const documentOperations: readonly Operation[] = [
  {
    path: '/v1/namespaces',
    method: 'get',
    id: 'listNamespaces',
    summary: 'The namespaces that the caller may ask for',
    gives: 'Namespaces',
    errors: READ,
  },
  {
    path: '/v1/document',
    method: 'get',
    id: 'getDocument',
    summary: 'All of a namespace as one rules document',
    gives: 'Document',
    headers: ['ETag'],
    parameters: [NAMESPACE],
    errors: [...READ, 'rules_from_file'],
  },
  {
    path: '/v1/document',
    method: 'put',
    id: 'applyDocument',
    summary: 'Makes a namespace what a document says, all or nothing; with `dry_run` only says how',
    takes: 'Document',
    gives: 'Plan',
    headers: ['ETag'],
    parameters: [
      NAMESPACE,
      query('dry_run', 'Changes nothing.', { type: 'string', enum: ['true', 'false'] }),
      IF_MATCH,
    ],
    errors: [...RULES, ...VERSIONED, 'older_instances'],
  },
]

const tokenOperations: readonly Operation[] = [
  {
    path: '/v1/tokens',
    method: 'get',
    id: 'listTokens',
    summary: 'The tokens there are, without the tokens themselves',
    gives: 'Tokens',
    parameters: PAGE,
    errors: READ,
  },
  {
    path: '/v1/tokens',
    method: 'post',
    id: 'createToken',
    summary: 'A new token, shown this once',
    takes: 'TokenInput',
    gives: 'NewToken',
    status: 201,
    headers: ['Location'],
    errors: WRITE,
  },
  {
    path: '/v1/tokens/{id}',
    method: 'delete',
    id: 'revokeToken',
    summary: 'The token is good for nothing any more',
    gives: null,
    status: 204,
    parameters: [ID],
    errors: [...WRITE, 'not_found'],
  },
  {
    path: '/v1/audit',
    method: 'get',
    id: 'listAudit',
    summary: 'Who changed what, newest first',
    gives: 'AuditEntries',
    parameters: [
      query('namespace', 'Only of this one; all of the caller’s unless given.'),
      query('actor', 'Only by this one.'),
      query('action', 'Only such as `rule.create`.'),
      query('target', 'Only of this.'),
      query('from', 'Not before this time.'),
      query('to', 'Before this time.'),
      ...PAGE,
    ],
    errors: READ,
  },
]

export const ADMIN_OPERATIONS: readonly Operation[] = [
  ...ruleOperations,
  ...subjectOperations,
  ...listOperations,
  ...costOperations,
  ...documentOperations,
  ...tokenOperations,
]
