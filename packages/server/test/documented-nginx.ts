/** A real nginx with the configuration of docs/how-to/nginx.md, in front of an API that counts what reaches it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, until } from '../../limiter/test/redis/servers.js'

const PAGE = readFileSync(
  fileURLToPath(new URL('../../../docs/how-to/nginx.md', import.meta.url)),
  'utf8',
)
const BLOCKS = [...PAGE.matchAll(/^```nginx\n(.*?)^```$/gms)].map((match) => match[1]!)
const [CONFIGURATION, OPEN_LINE, OPEN_LOCATION] = BLOCKS as [string, string, string]

/** Replaces what must be there. */
function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`docs/how-to/nginx.md does not have: ${from}`)
  return text.replace(from, () => to)
}

export interface NginxOptions {
  readonly sluicePort: number
  /** With what the page says of letting requests through when Sluice is away. */
  readonly failsOpen?: boolean
  readonly token?: string
  /** Besides the page's: directives of the `http` block. */
  readonly more?: string
}

function configurationOf(
  options: NginxOptions,
  ports: { readonly own: number; readonly api: number },
): string {
  let text = replaced(CONFIGURATION, 'listen 80;', `listen 127.0.0.1:${ports.own};`)
  text = replaced(text, 'server 127.0.0.1:4290;', `server 127.0.0.1:${options.sluicePort};`)
  text = replaced(text, 'server 127.0.0.1:8080;', `server 127.0.0.1:${ports.api};`)
  if (options.token !== undefined)
    text = replaced(
      text,
      '# proxy_set_header Authorization "Bearer …";',
      `proxy_set_header Authorization "Bearer ${options.token}";`,
    )
  if (options.failsOpen !== true) return text
  text = replaced(text, '    auth_request /sluice;\n', `    auth_request /sluice;\n${OPEN_LINE}`)
  return replaced(text, '  location @refused {', `${OPEN_LOCATION}\n  location @refused {`)
}

export interface ClientAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
}

export class DocumentedNginx {
  readonly port: number
  /** Requests that reached the API. */
  readonly passed: IncomingMessage[] = []
  #stop: () => Promise<void> = async () => undefined

  private constructor(port: number) {
    this.port = port
  }

  static async start(options: NginxOptions): Promise<DocumentedNginx> {
    const nginx = new DocumentedNginx(await freePort())
    await nginx.#start(options)
    return nginx
  }

  async #start(options: NginxOptions): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
    const api = createServer({ maxHeaderSize: 1_000_000 }, (request, response) => {
      this.passed.push(request)
      response.end('from the API')
    })
    api.listen(0, '127.0.0.1')
    await once(api, 'listening')
    const ports = { own: this.port, api: (api.address() as { port: number }).port }
    const file = join(folder, 'nginx.conf')
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    writeFileSync(
      file,
      `daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  ${paths.map((path) => `${path}_temp_path ${folder};`).join(' ')}
  ${options.more ?? ''}
${configurationOf(options, ports)}
}`,
    )
    const child = spawn('nginx', ['-p', folder, '-c', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += String(chunk)
    })
    const gone = once(child, 'exit')
    const end = () => child.kill()
    process.once('exit', end)
    this.#stop = async () => {
      process.off('exit', end)
      child.kill()
      await gone
      api.closeAllConnections()
      api.close()
      rmSync(folder, { recursive: true })
    }
    await until('nginx answers', async () => {
      if (child.exitCode !== null) throw new Error(said)
      return (await this.get('/')).status === 404
    })
  }

  stop(): Promise<void> {
    return this.#stop()
  }

  /** A plain client: the address it comes from is its own choice among those of this machine. */
  get(path: string, lines: readonly string[] = [], from = '127.0.0.1'): Promise<ClientAnswer> {
    const head = [`GET ${path} HTTP/1.1`, 'Host: api.example', ...lines, 'Connection: close']
    return this.send(`${head.join('\r\n')}\r\n\r\n`, from)
  }

  /** Bytes as they are (latin1), and everything that comes back until nginx closes. */
  async send(bytes: string, from = '127.0.0.1'): Promise<ClientAnswer> {
    const socket = connect({ host: '127.0.0.1', port: this.port, localAddress: from })
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.write(bytes, 'latin1')
    await once(socket, 'close')
    const text = Buffer.concat(chunks)
      .toString('latin1')
      .replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '')
    const [head = '', ...rest] = text.split('\r\n\r\n')
    return { status: Number(head.split(' ')[1] ?? 0), head, body: rest.join('\r\n\r\n') }
  }
}
