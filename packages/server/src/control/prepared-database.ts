/** A database that is made ready before it is first asked, and of which it is known whether it can be asked. */
import { type Database, DatabaseAway, type Row, type Sql } from './database.js'

export class PreparedDatabase implements Database {
  readonly #database: Database
  readonly #prepare: (database: Database) => Promise<unknown>
  #prepared: Promise<unknown> | null = null
  /** As of the last question. */
  isAway = false

  constructor(database: Database, prepare: (database: Database) => Promise<unknown>) {
    this.#database = database
    this.#prepare = prepare
  }

  get kind(): Database['kind'] {
    return this.#database.kind
  }

  get name(): string {
    return this.#database.name
  }

  /** The tables are there. What went wrong is tried again with the next question. */
  prepare(): Promise<void> {
    return this.#watched(async () => undefined)
  }

  query<R extends Row = Row>(text: string, parameters?: readonly unknown[]): Promise<R[]> {
    return this.#watched(() => this.#database.query<R>(text, parameters))
  }

  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#watched(() => this.#database.transaction(work))
  }

  close(): Promise<void> {
    return this.#database.close()
  }

  async #watched<T>(work: () => Promise<T>): Promise<T> {
    try {
      this.#prepared ??= this.#prepare(this.#database)
      await this.#prepared.catch((error: unknown) => {
        this.#prepared = null
        throw error
      })
      const answer = await work()
      this.isAway = false
      return answer
    } catch (error) {
      if (error instanceof DatabaseAway) this.isAway = true
      throw error
    }
  }
}
