/** Routes of tokens and of the audit. */
import { ROLES } from '../roles.js'
import { anything, list, named, object, oneOf, orNull, text, time } from '../schema.js'
import { route } from './route.js'
import {
  createdAt,
  id,
  page,
  pageQuery,
  READ_ERRORS,
  revision,
  WRITE_ERRORS,
} from './route-parts.js'

const token = {
  id,
  name: text('What it is called in the audit.'),
  role: oneOf(ROLES, 'What its holder may do.'),
  namespaces: orNull(list(text('A namespace.'), 'Null: all of them.')),
  created_at: createdAt,
  expires_at: orNull(time('When it ends; null: never.')),
}

const Token = named('Token', object(token))

const AuditEntry = named(
  'AuditEntry',
  object({
    at: time('When.'),
    revision,
    namespace: text('Empty: of none.'),
    actor: text('Who.'),
    action: text('What was done: `rule.create`.'),
    target: text('To what.'),
    before: anything('What it was; null where there was nothing.'),
    after: anything('What it became; null where nothing is left.'),
  }),
)

export const tokenRoutes = {
  listTokens: route({
    method: 'GET',
    path: '/v1/tokens',
    role: 'reader',
    summary: 'List the tokens, without the tokens themselves',
    query: pageQuery,
    answer: page('Tokens', Token),
    errors: READ_ERRORS,
  }),
  createToken: route({
    method: 'POST',
    path: '/v1/tokens',
    role: 'admin',
    summary: 'Create a token, which is shown this once',
    body: named(
      'TokenInput',
      object(
        {
          name: { ...token.name, expected: 'what the token is called in the audit' },
          role: { ...token.role, expected: 'client, reader, operator or admin' },
          namespaces: {
            ...token.namespaces,
            expected: 'a list of names, or null for all',
          },
        },
        { expires_at: orNull(text('When it ends; null: never.')) },
      ),
    ),
    answer: named('NewToken', object({ ...token, token: text('Shown this once.') })),
    status: 201,
    answerHeaders: ['Location'],
    errors: WRITE_ERRORS,
  }),
  revokeToken: route({
    method: 'DELETE',
    path: '/v1/tokens/{id}',
    role: 'admin',
    summary: 'Revoke a token',
    status: 204,
    errors: [...WRITE_ERRORS, 'not_found'],
  }),
  listAudit: route({
    method: 'GET',
    path: '/v1/audit',
    role: 'reader',
    summary: 'List who changed what, newest first',
    query: {
      namespace: text("Only of this one; all of the caller's unless given."),
      actor: text('Only by this one.'),
      action: text('Only such as `rule.create`.'),
      target: text('Only of this.'),
      from: time('Not before this time.'),
      to: time('Before this time.'),
      ...pageQuery,
    },
    answer: page('AuditEntries', AuditEntry),
    errors: READ_ERRORS,
  }),
}
