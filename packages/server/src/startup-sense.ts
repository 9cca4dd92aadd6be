/** Whether the settings go together: what would start and then disagree, expose or surprise is refused before. */
import { existsSync } from 'node:fs'
import { type Settings, UsageError } from './config.js'
import { isLoopbackAddress } from './security/loopback.js'
import { Token } from './security/token.js'

export const STANDARD_FILE = 'sluice.yaml'

export interface Sense {
  /** Null: there are no rules. */
  readonly rulesFile: string | null
  readonly token: Token | null
}

export function senseOf(settings: Settings): Sense {
  const token = tokenOf(settings)
  requireSafeHost(settings, token)
  requireTlsPair(settings)
  if (settings.database !== undefined)
    throw new UsageError('--database is not in this version yet: rules come from a file')
  if (settings.rules === 'feed')
    throw new UsageError('--rules feed is not in this version yet: rules come from a file')
  const rulesFile = settings.rules ?? (existsSync(STANDARD_FILE) ? STANDARD_FILE : null)
  if (rulesFile === null && settings.redis !== undefined)
    throw new UsageError(
      `--redis shares counters, and instances without the same rules would disagree. Give --rules FILE, or put a ${STANDARD_FILE} here (sluice init makes one)`,
    )
  return { rulesFile, token }
}

function tokenOf({ token }: Settings): Token | null {
  if (token === undefined) return null
  try {
    return new Token(token)
  } catch (error) {
    throw new UsageError(`SLUICE_TOKEN cannot be used: ${(error as Error).message}`)
  }
}

function requireSafeHost({ host }: Settings, token: Token | null): void {
  if (token !== null || isLoopbackAddress(host)) return
  throw new UsageError(
    `--host ${host} is reachable from other machines, so callers need a token. Try: SLUICE_TOKEN=$(openssl rand -hex 32)`,
  )
}

function requireTlsPair({ tlsCert, tlsKey, tlsClientCa }: Settings): void {
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key go together')
  if (tlsClientCa !== undefined && tlsCert === undefined)
    throw new UsageError('--tls-client-ca needs --tls-cert and --tls-key')
}
