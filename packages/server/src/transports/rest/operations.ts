/** What can be asked of the decision routes, one entry each: the OpenAPI document is made of these. */
import type { ErrorCode } from '../../error-codes.js'
import type { Operation } from '../../http/openapi.js'
import type { Schema } from '../../http/schema.js'

const BAD: readonly ErrorCode[] = ['bad_request', 'unauthorized', 'forbidden', 'payload_too_large']
const UNDONE: readonly ErrorCode[] = ['outcome_unknown', 'store_unavailable']
const ONCE: readonly ErrorCode[] = [
  'idempotency_conflict',
  'idempotency_in_progress',
  'disk_unwritable',
  ...UNDONE,
]

const header = (name: string, description: string, more: Schema = {}): Schema => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
  ...more,
})
const KEY = header('X-Idempotency-Key', 'Instead of `idempotency_key`.')

export const OPERATIONS: readonly Operation[] = [
  {
    path: '/v1/check',
    method: 'post',
    id: 'check',
    summary: 'Decides, and takes what it allows',
    takes: 'Check',
    gives: 'Decision',
    isDecision: true,
    parameters: [KEY],
    errors: [...BAD, 'idempotency_conflict'],
  },
  {
    path: '/v1/check/batch',
    method: 'post',
    id: 'checkBatch',
    summary:
      'Decides up to 1000 checks, each in itself all or nothing; one that is malformed, and none is counted',
    takes: 'Batch',
    gives: 'Results',
    errors: BAD,
  },
  {
    path: '/v1/quota',
    method: 'post',
    id: 'quota',
    summary: 'What a check would answer now; takes nothing, and a no is 200 too',
    takes: 'Check',
    gives: 'Decision',
    errors: BAD,
  },
  {
    path: '/v1/refund',
    method: 'post',
    id: 'refund',
    summary: 'Gives back by receipt, at most what was taken and once; without one it is a grant',
    takes: 'Refund',
    gives: 'Refunded',
    errors: [...BAD, 'unknown_receipt', ...ONCE],
  },
  {
    path: '/v1/reset',
    method: 'post',
    id: 'reset',
    summary: 'Gives back all that a subject has used',
    takes: 'Reset',
    gives: 'ResetCount',
    errors: [...BAD, ...UNDONE],
  },
  {
    path: '/v1/reserve',
    method: 'post',
    id: 'reserve',
    summary: 'Takes an estimate, to be settled within an hour',
    takes: 'Check',
    gives: 'Reservation',
    isDecision: true,
    parameters: [KEY],
    errors: [...BAD, 'idempotency_conflict'],
  },
  {
    path: '/v1/settle',
    method: 'post',
    id: 'settle',
    summary: 'Corrects an estimate to what was used, once; again it answers the same',
    takes: 'Settle',
    gives: 'Settled',
    errors: [...BAD, 'unknown_receipt', ...ONCE],
  },
  {
    path: '/v1/renew',
    method: 'post',
    id: 'renew',
    summary: 'Makes a hold live on',
    takes: 'Hold',
    gives: 'Renewed',
    errors: [...BAD, 'lost', ...UNDONE],
  },
  {
    path: '/v1/release',
    method: 'post',
    id: 'release',
    summary: "Releases a hold; twice frees nobody else's",
    takes: 'Hold',
    gives: 'Released',
    errors: [...BAD, ...UNDONE],
  },
  {
    path: '/v1/explain',
    method: 'post',
    id: 'explain',
    summary: 'Which rules apply and why, which do not, and what would be decided; takes nothing',
    takes: 'Explain',
    gives: 'Explanation',
    errors: BAD,
  },
  {
    path: '/v1/auth',
    method: 'get',
    id: 'auth',
    summary:
      'A check by headers, for gateways that only know statuses. A denial or block has X-Sluice-Reason; every error of the request is 403 with X-Sluice-Error',
    gives: null,
    isDecision: true,
    parameters: [
      ...['User', 'Api-Key', 'Ip', 'Org'].map((scope) =>
        header(
          `X-Sluice-Scope-${scope}`,
          'Who asks: a header for each scope of the rules, hyphens for underscores. The whole value, as UTF-8; an empty one is an absent scope.',
        ),
      ),
      header('X-Sluice-Resource', 'The resource of the request. It is normalised.'),
      header('X-Sluice-Method', 'Its method.'),
      header('X-Sluice-Cost', 'Requests to be charged; read only with `--auth-headers cost`.'),
      header('X-Sluice-Tier', 'Its tier; read only with `--auth-headers tier`.'),
      header('X-Idempotency-Key', 'Read only with `--auth-headers idempotency-key`.'),
      header('X-Sluice-Subject', 'One scope, `user=42`. Send `X-Sluice-Scope-User` instead.', {
        deprecated: true,
      }),
      {
        name: 'deny',
        in: 'query',
        description: 'The status of a no, where 429 is not understood.',
        schema: { type: 'string', enum: ['403', '429'] },
      },
    ],
    errors: ['unauthorized', 'forbidden'],
  },
  {
    path: '/healthz',
    method: 'get',
    id: 'health',
    summary: 'Whether the process runs',
    gives: 'Health',
    errors: ['forbidden'],
    isOpen: true,
  },
  {
    path: '/readyz',
    method: 'get',
    id: 'readiness',
    summary: 'Whether it can decide and is not about to stop; 503 if not',
    gives: 'Readiness',
    errors: ['forbidden'],
    isOpen: true,
  },
  {
    path: '/metrics',
    method: 'get',
    id: 'metrics',
    summary: "Counts in Prometheus's text format",
    gives: null,
    errors: ['unauthorized', 'forbidden'],
  },
  {
    path: '/v1/openapi.json',
    method: 'get',
    id: 'openapi',
    summary: 'This document',
    gives: null,
    errors: ['unauthorized', 'forbidden'],
  },
]
