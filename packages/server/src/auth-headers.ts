/** Headers that `GET /v1/auth` reads only where a setting allows them. */
export const AUTH_HEADERS = ['cost', 'tier', 'idempotency-key'] as const
export type AuthHeader = (typeof AUTH_HEADERS)[number]
