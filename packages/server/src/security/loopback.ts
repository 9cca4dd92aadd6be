/**
 * Without a token everyone on this machine may ask, and nobody else: a web page must not get its visitor's
 * browser to ask, neither from its own origin nor under a name of its own that leads here.
 */
import { ServiceError } from '../error-codes.js'

const OCTET = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)'
const LOOPBACK_HOST = new RegExp(`^(localhost|127(\\.${OCTET}){3}|\\[::1\\])(:\\d{1,5})?$`, 'i')

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOST.test(host)
}

/** An address to listen on that only this machine reaches. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || isLoopbackHost(address)
}

/** The head of a request that shows no token. */
export function requireLocal(host: string | undefined, origin: string | undefined): void {
  if (host === undefined || !isLoopbackHost(host))
    throw new ServiceError(
      'forbidden',
      `Host is ${JSON.stringify((host ?? '').slice(0, 64))}; without a token only loopback names are answered`,
    )
  if (origin === undefined || isSameOrigin(origin, host)) return
  throw new ServiceError(
    'forbidden',
    `Origin is ${JSON.stringify(origin.slice(0, 64))}; without a token no other page may ask`,
  )
}

function isSameOrigin(origin: string, host: string): boolean {
  const lower = origin.toLowerCase()
  return lower === `http://${host.toLowerCase()}` || lower === `https://${host.toLowerCase()}`
}
