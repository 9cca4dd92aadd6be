/** Routes of namespaces, and of all of a namespace as one document. */
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
    description: 'A rules document, as a rules file has it: see rules.schema.json.',
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
            'What kind.',
          ),
          name: text('Which.'),
          change: oneOf(['added', 'removed', 'changed'], 'What becomes of it.'),
          before: orNull(text('What it is.')),
          after: orNull(text('What it is to be.')),
          counters: orNull(
            oneOf(['carry over', 'start anew'], 'What becomes of what subjects have used.'),
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
    summary: 'List the namespaces that the caller may ask for',
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
      'Make a namespace what a document says, all or nothing; with `dry_run` only say what would change',
    query: { namespace: namespaceQuery, dry_run: flag('Change nothing.') },
    headers: ifMatch,
    body: Document,
    bodyCheckedBy: 'handler',
    longestBody: DOCUMENT_BODY_BYTES,
    answer: Plan,
    answerHeaders: ['ETag'],
    errors: [...RULE_ERRORS, ...VERSION_ERRORS, 'rules_from_file'],
  }),
}
