/**
 * A PostgreSQL server behind the port. Whatever keeps a statement from being answered is DatabaseAway; the
 * pool makes new connections by itself once the server is back. The server itself gives up what takes too
 * long, a little before it is given up here: so nothing goes on there that nobody waits for, and a process
 * that stands still in a transaction does not hold its locks for ever.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import {
  type Database,
  DatabaseAway,
  DatabaseBusy,
  type Row,
  refusal,
  runWork,
  type Sql,
  withRetries,
} from './database.js'

const MOST_CONNECTIONS = 10
const CONNECTING_MS = 5_000
/** How long a statement may take. */
const PATIENCE_MS = 10_000
/** A statement's wait for a lock ends before the statement does, and both before nobody waits any more. */
const LOCK_PART = 0.9
const CLIENT_PART = 1.1
const IDLE_MS = 15_000

const INT8 = 20
const NUMERIC = 1700
const toNumber = (text: string): number => Number(text)

const types = new pg.TypeOverrides()
types.setTypeParser(INT8, toNumber)
types.setTypeParser(NUMERIC, toNumber)

export interface PostgresOptions {
  /** Of connections. */
  readonly max?: number
  /** Of each statement; of connecting too, where that is less than is usual. */
  readonly patienceMs?: number
  /** How long a transaction may stand still between its statements. */
  readonly idleMs?: number
}

/** Connects when it is first asked. */
export function openPostgres(url: string, options: PostgresOptions = {}): Database {
  const { max = MOST_CONNECTIONS, patienceMs = PATIENCE_MS, idleMs = IDLE_MS } = options
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: Math.min(patienceMs, CONNECTING_MS),
    lock_timeout: patienceMs * LOCK_PART,
    statement_timeout: patienceMs,
    query_timeout: patienceMs * CLIENT_PART,
    idle_in_transaction_session_timeout: idleMs,
    application_name: 'sluice',
    keepAlive: true,
    types,
  })
  // A connection that breaks while nobody uses it is not anybody's failure.
  pool.on('error', () => undefined)
  return {
    kind: 'postgres',
    name: nameOf(url),
    query: (text, parameters) => withClient(pool, (client) => ask(client, text, parameters, true)),
    transaction: (work) => withRetries(() => withClient(pool, (client) => within(client, work))),
    close: () => pool.end(),
  }
}

async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>) {
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    throw away(error, false)
  }
  // While it is ours a broken connection fails the statement that waits for it, and nothing else.
  const ignore = () => undefined
  client.on('error', ignore)
  let isBroken = false
  try {
    return await work(client)
  } catch (error) {
    isBroken = isOver(error)
    throw error
  } finally {
    client.removeListener('error', ignore)
    client.release(isBroken)
  }
}

async function within<T>(client: pg.PoolClient, work: (sql: Sql) => Promise<T>): Promise<T> {
  const run = (text: string, mayHaveRun = false) => ask(client, text, [], mayHaveRun)
  await run('BEGIN')
  let done: T
  try {
    done = await runWork((text, parameters) => ask(client, text, parameters, false), work)
  } catch (error) {
    if (!isOver(error)) await run('ROLLBACK')
    throw error
  }
  await run('COMMIT', true)
  return done
}

/** `mayHaveRun`: what is to be said where no answer comes. */
async function ask<R extends Row>(
  client: pg.PoolClient,
  text: string,
  parameters: readonly unknown[] = [],
  mayHaveRun: boolean,
): Promise<R[]> {
  try {
    const { rows } = await client.query<R>({
      name: statementName(text),
      text,
      values: [...parameters],
    })
    return rows
  } catch (error) {
    throw isAway(error) ? away(error, mayHaveRun) : refusalOf(error as pg.DatabaseError)
  }
}

const names = new Map<string, string>()

/** The same text is the same prepared statement. */
function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('hex').slice(0, 32)
    names.set(text, name)
  }
  return name
}

/** Of the server's own refusals: it stops, starts, is only a copy, or ended an idle transaction. */
const AWAY = /^(08...|57P0[1-5]|25006|25P03)$/

/** The connection ended with it, or cannot be relied on. */
function isOver(error: unknown): boolean {
  return error instanceof DatabaseAway && !(error instanceof DatabaseBusy)
}

function isAway(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || AWAY.test(error.code ?? '')
}

function away(error: unknown, mayHaveRun: boolean): DatabaseAway {
  return new DatabaseAway(`the database cannot be asked: ${wordsOf(error)}`, mayHaveRun, {
    cause: error,
  })
}

/** Several addresses that all refuse come as one error without words. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

function refusalOf(error: pg.DatabaseError): Error {
  const { message, code = '', constraint = '' } = error
  return refusal(message, code, constraint, { cause: error })
}

/** Where it is, without who asks. */
function nameOf(url: string): string {
  try {
    const { host, pathname } = new URL(url)
    return `PostgreSQL at ${host === '' ? 'a socket' : host}${pathname}`
  } catch {
    return 'PostgreSQL'
  }
}
