/**
 * A checked document in small pieces, and put together again: what crosses from one thread to another is
 * copied while nothing else runs, so a large one crosses a little at a time.
 */
import type { RuleBook } from '@sluice/limiter'

/** How many items a piece has: about a millisecond to copy. */
export const MOST_ITEMS = 100

const LISTS = ['rules', 'overrides', 'costs', 'exemptions', 'blocks', 'warnings', 'scopes'] as const
type List = (typeof LISTS)[number]
type Lists = { -readonly [K in List]: RuleBook[K][number][] }
type Tier = [scope: string, value: string, tier: string]

export type BookPiece =
  | { readonly list: List; readonly items: readonly unknown[] }
  | { readonly list: 'tiers'; readonly items: readonly Tier[] }
  | { readonly list: 'end'; readonly rest: Omit<RuleBook, List | 'tiers'> }

/** The last piece is the end; without it the document is not whole. */
export function* takeApart(book: RuleBook): IterableIterator<BookPiece> {
  for (const list of LISTS) {
    const all: readonly unknown[] = book[list]
    for (let i = 0; i < all.length; i += MOST_ITEMS)
      yield { list, items: all.slice(i, i + MOST_ITEMS) }
  }
  let tiers: Tier[] = []
  for (const [scope, values] of book.tiers) {
    for (const [value, tier] of values) {
      tiers.push([scope, value, tier])
      if (tiers.length < MOST_ITEMS) continue
      yield { list: 'tiers', items: tiers }
      tiers = []
    }
  }
  yield { list: 'tiers', items: tiers }
  const { namespace, ipv6Prefix, normalize, defaultRule } = book
  yield { list: 'end', rest: { namespace, ipv6Prefix, normalize, defaultRule } }
}

export class BookInPieces {
  readonly #lists: Lists = {
    rules: [],
    overrides: [],
    costs: [],
    exemptions: [],
    blocks: [],
    warnings: [],
    scopes: [],
  }
  readonly #tiers = new Map<string, Map<string, string>>()

  /** The document, with its last piece. */
  add(piece: BookPiece): RuleBook | undefined {
    if (piece.list === 'end') return { ...piece.rest, ...this.#lists, tiers: this.#tiers }
    if (piece.list !== 'tiers') {
      const list = this.#lists[piece.list] as unknown[]
      for (const item of piece.items) list.push(item)
      return undefined
    }
    for (const [scope, value, tier] of piece.items) {
      const values = this.#tiers.get(scope) ?? new Map<string, string>()
      this.#tiers.set(scope, values.set(value, tier))
    }
    return undefined
  }
}
