/** Tokens: given out once, kept as hashes, bound to namespaces. */

import { randomUUID } from 'node:crypto'
import type { ListItem } from '@sluice/contract'
import { hasControlCharacters, NAMESPACE, parseTime, quote } from '@sluice/limiter/transport'
import { ServiceError } from '../error-codes.js'
import { type Caller, namespaceOf, ROLES, type Role, requireRole } from '../security/caller.js'
import { tokenHash } from '../security/token.js'
import { newToken } from '../security/token-book.js'
import {
  beginNamespace,
  type ControlContext,
  isoTime,
  notFound,
  type Page,
  type PageRequest,
  pageOf,
  requireId,
} from './context.js'
import { NO_ID } from './load-content.js'
import type { Writing } from './writing.js'

export interface TokenFields {
  readonly name: string
  readonly role: string
  /** Null: all of them. */
  readonly namespaces: readonly string[] | null
  readonly expires_at?: string
}

interface TokenRecord extends Record<string, unknown> {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly namespaces: string[] | null
  readonly created_at: Date
  readonly expires_at: Date | null
}

const COLUMNS = 'id, name, role, namespaces, created_at, expires_at'
const LONGEST_NAME = 100
const MOST_NAMESPACES = 1000

export function tokensPart(context: ControlContext) {
  /** Those that are not revoked and have not ended; to the caller of some namespaces those of these alone. */
  const list = (caller: Caller, page: PageRequest): Promise<Page<ListItem<'listTokens'>>> =>
    context.read(async (sql) => {
      const own = caller.namespaces === null ? null : [...caller.namespaces]
      const rows = await sql.query<TokenRecord>(
        `SELECT ${COLUMNS} FROM sluice.tokens WHERE revoked_at IS NULL
          AND (expires_at IS NULL OR expires_at > now())
          AND ($1::text[] IS NULL OR namespaces <@ $1) AND id > $2 ORDER BY id LIMIT $3`,
        [own, page.after?.[0] ?? NO_ID, page.limit + 1],
      )
      return pageOf(rows, page.limit, wireToken, ({ id }) => [id])
    })

  const create = (caller: Caller, fields: TokenFields) =>
    context.write(caller.name, async (writing) => {
      const { name, role, namespaces, expiresAt } = readToken(fields, writing.at)
      refuseBeyond(caller, role, namespaces)
      for (const namespace of namespaces ?? []) await beginNamespace(writing, namespace)
      const token = newToken()
      const [id, hash] = [randomUUID(), tokenHash(token)]
      await writing.sql.query(
        `INSERT INTO sluice.tokens (${COLUMNS}, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [id, name, role, namespaces, writing.at, expiresAt, hash],
      )
      const expires_at = isoTime(expiresAt)
      const item = { name, hash, role, namespaces, expires_at }
      writing.edit({ kind: 'token', namespace: '', key: id, item })
      const record = { id, name, role, namespaces, created_at: writing.at, expires_at: expiresAt }
      auditToken(writing, 'token.create', record, [null, wireToken(record)])
      return { ...wireToken(record), token }
    })

  const revoke = (caller: Caller, id: string): Promise<void> =>
    context.write(caller.name, async (writing) => {
      requireId(id, 'token')
      const [found] = await writing.sql.query<TokenRecord>(
        `SELECT ${COLUMNS} FROM sluice.tokens WHERE id = $1 AND revoked_at IS NULL`,
        [id],
      )
      if (found === undefined) throw notFound('token', id)
      refuseBeyond(caller, found.role, found.namespaces)
      await writing.sql.query('UPDATE sluice.tokens SET revoked_at = $2 WHERE id = $1', [
        id,
        writing.at,
      ])
      writing.edit({ kind: 'token', namespace: '', key: id, item: null })
      auditToken(writing, 'token.delete', found, [wireToken(found), null])
    })

  return { list, create, revoke }
}

/** Nobody gives out, or takes away, more than they have. */
function refuseBeyond(caller: Caller, role: Role, namespaces: readonly string[] | null): void {
  requireRole(caller, role)
  if (namespaces === null && caller.namespaces !== null)
    throw new ServiceError(
      'forbidden',
      `the token ${quote(caller.name)} is not for all namespaces`,
      { field: 'namespaces' },
    )
  for (const namespace of namespaces ?? []) namespaceOf(caller, namespace)
}

function readToken(fields: TokenFields, now: Date) {
  const { name, role, namespaces, expires_at } = fields
  const bad = (field: string, message: string) =>
    new ServiceError('bad_request', `${field} ${message}`, { field })
  if (name === '' || name.length > LONGEST_NAME)
    throw bad('name', `is ${quote(name)}; expected 1 to ${LONGEST_NAME} characters`)
  if (hasControlCharacters(name) || !name.isWellFormed())
    throw bad('name', `is ${quote(name)}; expected no control characters`)
  const known = ROLES.find((one) => one === role)
  if (known === undefined) throw bad('role', `is ${quote(role)}; expected ${ROLES.join(', ')}`)
  if (namespaces?.length === 0) throw bad('namespaces', 'is empty; null means all of them')
  if ((namespaces?.length ?? 0) > MOST_NAMESPACES)
    throw bad('namespaces', `has more than ${MOST_NAMESPACES}`)
  for (const [i, one] of (namespaces ?? []).entries())
    if (!NAMESPACE.test(one)) throw bad(`namespaces[${i}]`, `is ${quote(one)}; expected a name`)
  const expiresAt = expires_at === undefined ? null : new Date(parseTime(expires_at))
  if (Number.isNaN(expiresAt?.getTime()))
    throw bad('expires_at', `is ${quote(expires_at)}; expected a time such as 2026-12-31T12:00:00Z`)
  if (expiresAt !== null && expiresAt.getTime() <= now.getTime())
    throw bad('expires_at', 'is in the past')
  return {
    name,
    role: known,
    namespaces: namespaces === null ? null : [...new Set(namespaces)],
    expiresAt,
  }
}

/** An entry for each namespace that it is for, so that who looks after one sees it. */
function auditToken(
  writing: Writing,
  action: string,
  { id, name, namespaces }: TokenRecord,
  [before, after]: readonly [unknown, unknown],
): void {
  for (const namespace of namespaces ?? [''])
    writing.audit({ namespace, action, target: `token ${name} ${id}`, before, after })
}

function wireToken({ id, name, role, namespaces, created_at, expires_at }: TokenRecord) {
  return {
    id,
    name,
    role,
    namespaces,
    created_at: isoTime(created_at),
    expires_at: isoTime(expires_at),
  }
}
