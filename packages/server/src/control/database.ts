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
