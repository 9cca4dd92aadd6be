/** A service in this process for tests, with files of its own; and a caller who reads its bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../src/config.js'
import { type Service, serve } from '../src/serve.js'
import { Log } from '../src/telemetry/log.js'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint: tests look into it freely
  readonly body: any
}

export interface TestService {
  readonly service: Service
  readonly folder: string
  readonly host: string
  readonly port: number
  /** The lines of the log. */
  readonly log: Record<string, unknown>[]
  readonly refusals: string[]
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** A bare connection. */
  connect(): Socket
  stop(): Promise<void>
}

export interface TestServiceOptions {
  readonly rules?: string
  readonly flags?: Record<string, string>
  readonly token?: string
}

const HELLO = 'rules:\n  hello: { scope: user, resource: /hello, limits: 3 per 10s }\n'

export async function startService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-service-'))
  const rules = join(folder, 'sluice.yaml')
  writeFileSync(rules, options.rules ?? HELLO)
  const log: Record<string, unknown>[] = []
  const refusals: string[] = []
  const standard = { port: '0', data: join(folder, 'data'), rules, 'drain-delay': '0' }
  const settings = readSettings({
    flags: { ...standard, ...options.flags },
    environment: options.token === undefined ? {} : { SLUICE_TOKEN: options.token },
    file: null,
  })
  const service = await serve({
    settings,
    log: new Log({ write: (line) => log.push(JSON.parse(line)) }),
    refused: (_file, { faults }) => refusals.push(...faults.map(({ message }) => message)),
  })
  const [host, port] = service.addresses[0]!.split(':') as [string, string]
  const call = (method: string, path: string, body: string | null, headers = {}) =>
    ask({ host, port: Number(port), method, path, headers }, body)
  return {
    service,
    folder,
    host,
    port: Number(port),
    log,
    refusals,
    post: (path, body, headers) =>
      call('POST', path, typeof body === 'string' ? body : JSON.stringify(body), headers),
    get: (path, headers) => call('GET', path, null, headers),
    connect: () => connect(Number(port), host),
    stop: async () => {
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface Asked {
  readonly host?: string
  readonly localAddress?: string
  readonly port?: number
  readonly socketPath?: string
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
}

/** Asks as a client of the control plane does: a body is JSON, and says so. */
export function askJson(asked: Asked, body: unknown): Promise<Answer> {
  if (body === undefined) return ask(asked, null)
  const headers = { 'Content-Type': 'application/json', ...asked.headers }
  return ask({ ...asked, headers }, typeof body === 'string' ? body : JSON.stringify(body))
}

export function ask(asked: Asked, body: string | null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...asked, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type']?.startsWith('application/json') === true
        resolve({
          status: response.statusCode!,
          headers: response.headers as Record<string, string>,
          text,
          body: isJson ? JSON.parse(text) : undefined,
        })
      })
    })
    sent.on('error', reject)
    if (body === null) sent.end()
    else sent.end(body)
  })
}
