/** Routes of namespaces, and of the document that holds all of one namespace. */
import { DOCUMENT_BODY_BYTES } from '../body-sizes.js'
import { flag, list, named, object, oneOf, orNull, raw, text } from '../schema.js'
import { route } from './route.js'
import {
  ifMatch,
  namespace,
  namespaceQuery,
  page,
  READ_ERRORS,
  RULE_ERRORS,
  revision,
  VERSION_ERRORS,
  warnings,
} from './route-parts.js'

const Document = named(
  'Document',
  raw<object>({
    type: 'object',
    description: 'A rules document, in the form of a rules file: see rules.schema.json.',
  }),
)

const Plan = named(
  'Plan',
  object(
    {
      revision,
      changes: list(
        object({
          what: oneOf(
            ['rule', 'tier', 'override', 'exemption', 'block', 'cost', 'settings'],
            'The kind of entry.',
          ),
          name: text('The name of the entry.'),
          change: oneOf(['added', 'removed', 'changed'], 'How it changes.'),
          before: orNull(text('How it is now; null where it is added.')),
          after: orNull(text('How it will be; null where it is removed.')),
          counters: orNull(
            oneOf(
              ['carry over', 'start anew'],
              'What happens to what subjects have used; null where this does not apply.',
            ),
          ),
        }),
      ),
    },
    { warnings },
  ),
)

export const documentRoutes = {
  listNamespaces: route({
    method: 'GET',
    path: '/v1/namespaces',
    role: 'reader',
    summary: 'List the namespaces that the caller may use',
    answer: page('Namespaces', named('Namespace', object({ name: namespace, revision }))),
    errors: READ_ERRORS,
  }),
  getDocument: route({
    method: 'GET',
    path: '/v1/document',
    role: 'reader',
    summary: 'Get all of a namespace as one rules document',
    query: { namespace: namespaceQuery },
    answer: Document,
    answerHeaders: ['ETag'],
    errors: [...READ_ERRORS, 'rules_from_file'],
  }),
  applyDocument: route({
    method: 'PUT',
    path: '/v1/document',
    role: 'admin',
    summary:
      'Replace all of a namespace by a document, all or nothing; with `dry_run` only say what would change',
    query: {
      namespace: namespaceQuery,
      dry_run: flag('Change nothing; only say what would change.'),
    },
    headers: ifMatch,
    body: Document,
    bodyCheckedBy: 'handler',
    longestBody: DOCUMENT_BODY_BYTES,
    answer: Plan,
    answerHeaders: ['ETag'],
    errors: [...RULE_ERRORS, ...VERSION_ERRORS, 'rules_from_file'],
  }),
}
