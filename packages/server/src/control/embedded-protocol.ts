/** What the thread of the embedded database is told, and what it says. */
import type { Row } from './database.js'

/** What the thread is started with. */
export interface EmbeddedPlace {
  /** Where the database's files are. */
  readonly files: string
  /** Beside it lies this while the files are being made: then they are made anew. */
  readonly beginning: string
  /** A whole database to begin with; made without it, slowly. */
  readonly seed: string
  readonly dump: string
  /** Files that do not open are set aside here. */
  readonly broken: string
}

export type EmbeddedRequest =
  | {
      readonly id: number
      readonly kind: 'query'
      readonly text: string
      readonly parameters: readonly unknown[]
    }
  | { readonly id: number; readonly kind: 'dump' | 'close' }

export type EmbeddedAnswer =
  | { readonly kind: 'open' }
  | { readonly kind: 'log'; readonly message: string }
  | { readonly kind: 'rows'; readonly id: number; readonly rows: Row[] }
  | {
      readonly kind: 'refused'
      readonly id: number
      readonly message: string
      readonly state: string
      readonly constraint: string
    }
