/** The route for gateways that read only the status of an answer. */
import { headerSchemas } from '../decisions/request-headers.js'
import { oneOf, text } from '../schema.js'
import { route } from './route.js'

export const authRoutes = {
  auth: route({
    kind: 'decision',
    method: 'GET',
    path: '/v1/auth',
    role: 'client',
    summary:
      'Decide a request by its headers, for gateways that read only the status. A denial or block has the header X-Sluice-Reason. Every error of the request is 403 with the header X-Sluice-Error',
    takesAnyQuery: true,
    query: {
      deny: oneOf(['403', '429'], 'The status of a denial, for gateways that do not know 429.'),
    },
    headers: {
      ...Object.fromEntries(
        ['User', 'Api-Key', 'Ip', 'Org'].map((scope) => [
          `X-Sluice-Scope-${scope}`,
          text(
            'The value of this scope. Each scope of the rules has such a header, with hyphens for underscores. The header is the whole value, as UTF-8. An empty header means that the scope is absent.',
          ),
        ]),
      ),
      ...headerSchemas(),
      'X-Sluice-Subject': text('One scope, `user=42`. Send `X-Sluice-Scope-User` instead.', {
        deprecated: true,
      }),
    },
    isDecision: true,
    errors: ['unauthorized', 'forbidden'],
  }),
}
