/** The route for gateways that only know statuses. */
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
      'Decide a request by its headers, for gateways that only know statuses. A denial or block has X-Sluice-Reason; every error of the request is 403 with X-Sluice-Error',
    takesAnyQuery: true,
    query: { deny: oneOf(['403', '429'], 'The status of a denial, where 429 is not understood.') },
    headers: {
      ...Object.fromEntries(
        ['User', 'Api-Key', 'Ip', 'Org'].map((scope) => [
          `X-Sluice-Scope-${scope}`,
          text(
            'Who asks: a header for each scope of the rules, hyphens for underscores. The whole value, as UTF-8; an empty one is an absent scope.',
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
