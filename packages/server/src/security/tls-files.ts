/** Certificates from files, read again when they change. A pair that does not fit is refused, and the one before stays. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, createServer, type Server, type TLSSocket } from 'node:tls'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
  /** Callers must show a certificate of one of these authorities. */
  readonly clientCa?: string | undefined
}

export interface TlsListener {
  readonly changed: () => void
  readonly refused: (error: unknown) => void
}

const LOOK_EVERY_MS = 1000

export class TlsCertificates {
  readonly #files: TlsFiles
  readonly #listener: TlsListener
  readonly #servers = new Set<Server>()
  #seen: string
  readonly #timer: ReturnType<typeof setInterval>

  /** Throws where the files cannot be used. */
  constructor(files: TlsFiles, listener: TlsListener) {
    this.#files = files
    this.#listener = listener
    this.#seen = this.#stamp()
    createSecureContext(this.#read())
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  createServer(accept: (socket: TLSSocket) => void): Server {
    const isMutual = this.#files.clientCa !== undefined
    const options = {
      ...this.#read(),
      noDelay: true,
      minVersion: 'TLSv1.2',
      handshakeTimeout: 10_000,
      requestCert: isMutual,
      rejectUnauthorized: isMutual,
    } as const
    const server = createServer(options, accept)
    // A handshake that fails is the caller's; what is left of the connection goes with it.
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    this.#servers.add(server)
    return server
  }

  #read(): { cert: Buffer; key: Buffer; ca?: Buffer } {
    const { cert, key, clientCa } = this.#files
    const pair = { cert: readFileSync(cert), key: readFileSync(key) }
    return clientCa === undefined ? pair : { ...pair, ca: readAuthorities(clientCa) }
  }

  /** What the files are now, as far as can be told without reading them. */
  #stamp(): string {
    const { cert, key, clientCa } = this.#files
    const files = clientCa === undefined ? [cert, key] : [cert, key, clientCa]
    return files.map(stampOf).join()
  }

  #look(): void {
    const stamp = this.#stamp()
    if (stamp === this.#seen) return
    this.#seen = stamp
    try {
      const context = this.#read()
      createSecureContext(context)
      for (const server of this.#servers) server.setSecureContext(context)
      this.#listener.changed()
    } catch (error) {
      this.#listener.refused(error)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** With the time of the last change of any kind: a file that was not ours to read may have become so. */
function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file)
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
  } catch (error) {
    // Gone, or in a folder that is closed to us: reading it will say which.
    return String((error as NodeJS.ErrnoException).code)
  }
}

/** OpenSSL takes what it can read of a list, and is content with nothing: then nobody would be let in. */
function readAuthorities(file: string): Buffer {
  const list = readFileSync(file)
  const begin = /(?=-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----)/
  const parts = list.toString('latin1').split(begin)
  const found = parts.filter((part) => part.startsWith('-----BEGIN'))
  if (found.length === 0) throw new Error(`no certificate in ${file}`)
  for (const [i, part] of found.entries())
    try {
      void new X509Certificate(part)
    } catch (error) {
      const why = (error as Error).message
      throw new Error(`certificate ${i + 1} in ${file}: ${why}`, { cause: error })
    }
  return list
}
