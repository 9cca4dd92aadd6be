/** The tokens that the control plane has given out, as far as this instance knows them: by hash. */
import { randomBytes } from 'node:crypto'
import type { Caller, Role } from './caller.js'
import { tokenHash } from './token.js'

/** Tokens of Sluice's own can be told from others, here and by those who look for secrets in code. */
const PREFIX = 'sluice_'

export function newToken(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

export function isOwnToken(shown: string): boolean {
  return shown.startsWith(PREFIX)
}

const SCHEME = /^bearer +/i

/** What an Authorization header shows; null where it is no bearer's. */
export function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined || !SCHEME.test(authorization)) return null
  return authorization.replace(SCHEME, '')
}

/** What is kept of a token. */
export interface KnownToken {
  readonly id: string
  readonly name: string
  /** SHA-256 in hex. */
  readonly hash: string
  readonly role: Role
  readonly namespaces: readonly string[] | null
  /** Milliseconds since the epoch; null without an end. */
  readonly expiresAt: number | null
}

interface Entry {
  readonly caller: Caller
  readonly expiresAt: number
}

export class TokenBook {
  #byHash = new Map<string, Entry>()
  /** Counts the changes: what was found before may not be known any more. */
  version = 0
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  get size(): number {
    return this.#byHash.size
  }

  /** These are all there are. */
  use(tokens: Iterable<KnownToken>): void {
    this.#byHash = new Map(
      [...tokens].map(({ id, name, hash, role, namespaces, expiresAt }) => [
        hash,
        {
          caller: {
            name: `token ${name} (${id})`,
            id,
            role,
            namespaces: namespaces === null ? null : new Set(namespaces),
          },
          expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
        },
      ]),
    )
    this.version++
  }

  /** Found by its hash, so that how long it takes says nothing about the tokens there are. */
  find(shown: string): Caller | null {
    if (this.#byHash.size === 0) return null
    const entry = this.#byHash.get(tokenHash(shown))
    return entry === undefined || entry.expiresAt <= this.#now() ? null : entry.caller
  }
}
