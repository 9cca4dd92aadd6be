/**
 * The small port behind which PostgreSQL is: a server, or the one embedded in this process. The same SQL
 * runs on both. Parameters are $1, $2, …; JSON ones are passed as text and cast (`$1::jsonb`); int8 comes
 * back as a number, timestamptz as a Date.
 */

export type Row = Record<string, unknown>

export interface Sql {
  /** One statement; its rows. Rejects with DatabaseAway where the database cannot be asked. */
  query<R extends Row = Row>(text: string, parameters?: readonly unknown[]): Promise<R[]>
}

export interface Database extends Sql {
  readonly kind: 'postgres' | 'embedded'
  /** For people, without a password. */
  readonly name: string
  /** All of it or none: whatever `work` throws undoes it. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** The database cannot be asked now. What was asked may have been done only where `mayHaveRun`. */
export class DatabaseAway extends Error {
  readonly mayHaveRun: boolean

  constructor(message: string, mayHaveRun: boolean, options?: ErrorOptions) {
    super(message, options)
    this.mayHaveRun = mayHaveRun
  }
}

/** It answers, and cannot do it now: nothing was done. The message is for callers. */
export class DatabaseBusy extends DatabaseAway {
  constructor(message: string, options?: ErrorOptions) {
    super(message, false, options)
  }
}

/** A statement that the database refused. */
export class SqlError extends Error {
  /** PostgreSQL's five characters: 23505 for what is there already. */
  readonly state: string
  /** The name of what was violated; empty where nothing of a name was. */
  readonly constraint: string

  constructor(message: string, state: string, constraint: string, options?: ErrorOptions) {
    super(message, options)
    this.state = state
    this.constraint = constraint
  }
}

/** Refusals that are not the statement's fault, by PostgreSQL's five characters or the system's own name. */
const BUSY: readonly (readonly [RegExp, string])[] = [
  [/^55P03$/, 'others are writing; ask again'],
  [/^57014$/, 'the database took too long; ask again'],
  [/^(53100|ENOSPC)$/, 'the disk of the database is full'],
  [/^53200$/, 'the database is out of memory'],
  [/^53300$/, 'the database has too many connections; ask again'],
  [/^53...$/, 'the database has not enough of what it needs'],
  [/^58(030|P01)$/, 'the database cannot use its files'],
]

/** What a statement that was refused ends in. */
export function refusal(
  message: string,
  state: string,
  constraint: string,
  options?: ErrorOptions,
): SqlError | DatabaseBusy {
  const words = BUSY.find(([states]) => states.test(state))?.[1]
  return words === undefined
    ? new SqlError(message, state, constraint, options)
    : new DatabaseBusy(words, options)
}

/** Whether a unique index of this name refused it. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof SqlError && error.state === '23505' && error.constraint === constraint
}

const SERIALIZATION: ReadonlySet<string> = new Set(['40001', '40P01'])
const MOST_ATTEMPTS = 4

/** Runs a transaction again where two got into each other's way and the database chose this one to end. */
export async function withRetries<T>(attempt: () => Promise<T>): Promise<T> {
  for (let made = 1; ; made++) {
    try {
      return await attempt()
    } catch (error) {
      const isRace = error instanceof SqlError && SERIALIZATION.has(error.state)
      if (!isRace || made === MOST_ATTEMPTS) throw error
    }
  }
}

/**
 * Runs the work of a transaction. PostgreSQL undoes one of which a statement was refused, whatever its end
 * is said to be; so that statement's error is the transaction's, also where the work did not mind it.
 */
export async function runWork<T>(
  query: (text: string, parameters?: readonly unknown[]) => Promise<Row[]>,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  let refused: unknown = null
  const done = await work({
    async query<R extends Row>(text: string, parameters?: readonly unknown[]): Promise<R[]> {
      try {
        return (await query(text, parameters)) as R[]
      } catch (error) {
        refused ??= error
        throw error
      }
    },
  })
  if (refused !== null) throw refused
  return done
}
