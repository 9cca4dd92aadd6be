/** The one table of error codes: what each means, what to do, its status over HTTP, and whether to send again. */
import { ERROR_CODES as LIBRARY_CODES, type ErrorCode as ThrownCode } from '@sluice/limiter'
import {
  BATCH_BODY_BYTES,
  CHECK_BODY_BYTES,
  DOCUMENT_BODY_BYTES,
  sizeInWords,
  VOUCHER_BODY_BYTES,
} from './body-sizes.js'

export interface ErrorCodeEntry {
  readonly status: number
  readonly meaning: string
  readonly remedy: string
  /** It is certain that nothing was done, so the same request may be sent again. */
  readonly retryable?: true
}

export const ERROR_CODES = {
  limited: {
    status: 429,
    meaning: 'A limit does not allow the request now. Nothing was taken from any limit.',
    remedy:
      'Send it again after `retry_after` seconds. `sluice explain` says which rule decides and why.',
  },
  too_expensive: {
    status: 429,
    meaning: 'The cost is above what the limit can ever hold, so no waiting helps.',
    remedy: 'Ask for less at a time, or raise the limit or its burst.',
  },
  blocked: {
    status: 403,
    meaning: 'A block refuses this subject before any rule is looked at.',
    remedy: 'Remove the subject from `blocks` in the rules, or wait until the block ends.',
  },
  store_down: {
    status: 503,
    meaning:
      'The store cannot be reached, and a rule with `failure_mode: closed` refuses what it cannot count.',
    remedy:
      'See `sluice doctor`. To decide without the store, set `failure_mode: local` or `open` in the rule.',
  },
  bad_request: {
    status: 400,
    meaning: LIBRARY_CODES.bad_request,
    remedy: 'Correct the field that is named. /v1/openapi.json has every shape.',
  },
  unauthorized: {
    status: 401,
    meaning: 'The request has no token, or one that is not known here.',
    remedy:
      'Send `Authorization: Bearer` with the token that the server was started with (SLUICE_TOKEN), or one that `sluice token create` made.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The caller may not do this: its token has another role or other namespaces, or the request came from a foreign web page (`Origin`) or under a foreign name (`Host`).',
    remedy:
      'Use a token of the role that the message names. Without a token, use a loopback name such as `localhost`, and no foreign web page.',
  },
  not_found: {
    status: 404,
    meaning: 'There is no such route, or nothing with this id or name.',
    remedy: '/v1/openapi.json lists the routes; the lists of the API have the ids.',
  },
  not_a_control_plane: {
    status: 404,
    meaning: 'This instance has no database: it only decides.',
    remedy: 'Ask an instance that was started with `--database`, or without a rules file and feed.',
  },
  unknown_namespace: {
    status: 400,
    meaning: 'There is no such namespace.',
    remedy: 'The first rule of a namespace, or a token that names it, creates it.',
  },
  unknown_receipt: {
    status: 404,
    meaning:
      'The receipt or reservation was not given out here, was changed, or is older than an hour.',
    remedy: 'Send it unchanged, within an hour. A refund without a receipt is a grant.',
  },
  lost: {
    status: 404,
    meaning: 'The hold has ended: it was released, or not renewed before its time-out.',
    remedy: 'Take a new one with a check. Renew every quarter of the time-out.',
  },
  timed_out: {
    status: 408,
    meaning: 'The request did not arrive in time.',
    remedy: 'Send it faster, or raise `--request-timeout`.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The route does not have this method; the header `Allow` lists those that it has.',
    remedy: 'Use one of those.',
  },
  idempotency_conflict: {
    status: 409,
    meaning: 'The idempotency key, receipt or reservation was used before, for something else.',
    remedy: 'Use a new key for a new request, and the same amounts when asking again.',
  },
  idempotency_in_progress: {
    status: 409,
    meaning: LIBRARY_CODES.idempotency_in_progress,
    remedy: 'Ask again in a moment.',
  },
  outcome_unknown: {
    status: 409,
    meaning:
      'The store did not say in time whether a refund, settlement, grant, reset, renewal or release was done. It may have been, so a receipt or reservation is not used again.',
    remedy:
      'Look at what is left with `POST /v1/quota`. A reset, renewal or release may be sent again: doing it twice changes nothing more.',
  },
  conflict: {
    status: 409,
    meaning: 'Something else has this name, or another rule governs the same requests.',
    remedy: 'Change the other one instead, choose another name, or make the rule additive.',
  },
  older_instances: {
    status: 409,
    meaning:
      'The rule or document has a field that running instances of an older release cannot read. Nothing was changed.',
    remedy:
      'Replace these instances first (`GET /readyz` marks them as `older`), or leave the field out. An instance that was stopped is forgotten after 10 s.',
  },
  rules_from_file: {
    status: 409,
    meaning: 'The rules come from a file, and can only be changed there.',
    remedy:
      'Change and save the file: that applies it. `sluice rules apply` moves a file to a database.',
  },
  stale_version: {
    status: 412,
    meaning: 'It has changed since it was read: `If-Match` names another version.',
    remedy: 'Read it again, and decide again.',
  },
  version_missing: {
    status: 428,
    meaning: 'A change must name the version that it changes, so that no other change is lost.',
    remedy: 'Send `If-Match` with the `ETag` that the last answer had.',
  },
  unsupported_media_type: {
    status: 415,
    meaning: 'Bodies for the control plane need a JSON content type.',
    remedy: 'Send `Content-Type: application/json`.',
  },
  payload_too_large: {
    status: 413,
    meaning: `The body is longer than ${sizeInWords(CHECK_BODY_BYTES)} (a check, a rule), ${sizeInWords(VOUCHER_BODY_BYTES)} (a receipt, a reservation, a hold), ${sizeInWords(BATCH_BODY_BYTES)} (a batch) or ${sizeInWords(DOCUMENT_BODY_BYTES)} (a rules document; \`--document-bytes\`).`,
    remedy: 'Send less at a time.',
  },
  invalid_rules: {
    status: 422,
    meaning: LIBRARY_CODES.invalid_rules,
    remedy: '`sluice rules validate` shows each fault with its line and what to write instead.',
  },
  headers_too_large: {
    status: 431,
    meaning: 'The head of the request is longer than 16 KB.',
    remedy: 'Send fewer or shorter headers.',
  },
  internal: {
    status: 500,
    meaning: 'A defect in Sluice. The log says what happened.',
    remedy: 'Report it together with that line of the log.',
  },
  busy: {
    status: 503,
    meaning: 'Too many requests are waiting; this one was not accepted.',
    remedy: 'Send it again in a moment, in smaller batches.',
    retryable: true,
  },
  disk_unwritable: {
    status: 503,
    meaning:
      'The data folder cannot be written, so it could not be recorded that the receipt or reservation is used. Nothing was done.',
    remedy: 'Make room on the disk of the data folder, then send the same request again.',
    retryable: true,
  },
  database_unavailable: {
    status: 503,
    meaning: 'The database cannot be reached. Decisions go on by the last known rules.',
    remedy:
      'Send it again later; see `sluice doctor`. Where the error has no `retryable`, the change may have been made: look before you send it again.',
    retryable: true,
  },
  store_unavailable: {
    status: 503,
    meaning: 'The store cannot be reached, so the request was not carried out.',
    remedy: 'Send it again later; nothing was changed. See `sluice doctor`.',
    retryable: true,
  },
} as const satisfies Record<string, ErrorCodeEntry>

export type ErrorCode = keyof typeof ERROR_CODES

/** What to do about an error that only the library throws. */
export const LIBRARY_REMEDIES: Readonly<Record<Exclude<ThrownCode, ErrorCode>, string>> = {
  invalid_options: 'Correct the option that the message names.',
  not_supported: 'Use a store that can, or do without.',
  invalid_snapshot: 'Import another export, or begin with empty counters.',
  closed: 'Make a new limiter, or close it after its last request.',
}

export function isRetryable(code: ErrorCode): boolean {
  const { retryable }: ErrorCodeEntry = ERROR_CODES[code]
  return retryable === true
}
