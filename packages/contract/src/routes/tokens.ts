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
  name: text('The name that the audit shows.'),
  role: oneOf(ROLES, 'What its holder may do.'),
  namespaces: orNull(list(text('A namespace.'), 'The namespaces that it is for; null for all.')),
  created_at: createdAt,
  expires_at: orNull(time('When it expires; null: never.')),
}

const Token = named('Token', object(token))

const AuditEntry = named(
  'AuditEntry',
  object({
    at: time('When it was done.'),
    revision,
    namespace: text('The namespace; empty where the change belongs to none.'),
    actor: text('Who did it.'),
    action: text('What was done, such as `rule.create`.'),
    target: text('What was changed.'),
    before: anything('How it was before; null where there was nothing.'),
    after: anything('How it is after; null where nothing is left.'),
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
    summary: 'Create a token; only this answer shows it',
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
        { expires_at: orNull(text('When it expires; null: never.')) },
      ),
    ),
    answer: named(
      'NewToken',
      object({ ...token, token: text('The token. No other answer shows it.') }),
    ),
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
      namespace: text("Only changes in this namespace. Unless given: in all of the caller's."),
      actor: text('Only changes by this actor.'),
      action: text('Only this action, such as `rule.create`.'),
      target: text('Only changes of this target.'),
      from: time('Not before this time.'),
      to: time('Before this time.'),
      ...pageQuery,
    },
    answer: page('AuditEntries', AuditEntry),
    errors: READ_ERRORS,
  }),
}
