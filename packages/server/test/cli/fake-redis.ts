/** A Redis that says of itself what a test wants: versions and roles that no machine of ours has. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

export class FakeRedis {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(info: Readonly<Record<string, string>>): Promise<FakeRedis> {
    const lines = Object.entries(info).map(([name, value]) => `${name}:${value}\r\n`)
    const text = `# Server\r\nloading:0\r\n${lines.join('')}`
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        for (const [, command] of bytes.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
          if (/^info$/i.test(command!)) socket.write(`$${text.length}\r\n${text}\r\n`)
          else if (/^ping$/i.test(command!)) socket.write('+PONG\r\n')
          else if (/^hello$/i.test(command!)) socket.write("-ERR unknown command 'HELLO'\r\n")
          else socket.write('+OK\r\n')
        }
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FakeRedis(server)
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  stop(): void {
    this.#server.close()
  }
}
