// The servers that are compared: node:http servers that do nothing, and Sluice.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../bin/sluice.cjs', import.meta.url))

/** Three limits that nobody reaches, so that every answer is a yes. */
const RULES = `rules:
  per-user: { scope: user, limits: [1M/s, 100M/h, 1000M/d] }
`

const LISTEN = `
if (process.env.SOCKET) require('node:fs').rmSync(process.env.SOCKET, { force: true })
if (process.env.SOCKET) require('node:net').createServer((socket) => server.emit('connection', socket)).listen(process.env.SOCKET)
server.listen(0, '127.0.0.1', () => console.log(':' + server.address().port))`

const EMPTY_HTTP = `
const server = require('node:http').createServer((request, response) => { request.resume(); response.end() })
${LISTEN}`

/** Reads what it is sent, and answers with as many bytes as the other does. */
const ECHO_HTTP = `
const body = Buffer.alloc(Number(process.env.BYTES), 'x')
const server = require('node:http').createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => response.end(body))
})
${LISTEN}`

const BARE_NET = `
const server = require('node:net').createServer((socket) => socket.end())
server.listen(0, '127.0.0.1', () => console.log(':' + server.address().port))`

export const SERVERS = {
  empty: { args: ['-e', EMPTY_HTTP] },
  echo: { args: ['-e', ECHO_HTTP] },
  bare: { args: ['-e', BARE_NET] },
  fast: { args: [COMMAND, 'serve', '--port', '0', '--log-level', 'error'] },
  ordinary: {
    args: [COMMAND, 'serve', '--port', '0', '--log-level', 'error', '--fast-path', 'false'],
  },
  sidecar: {
    args: [COMMAND, 'sidecar', '--rules', 'sluice.yaml', '--port', '0', '--log-level', 'error'],
  },
}

/**
 * Starts one on the first core; answers when it takes connections, and how long that took. A sidecar is told
 * the port of its Redis and listens on a socket too; the echo is told how many bytes to answer.
 */
export async function start(name, { redis, bytes, isSocket = redis !== undefined } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const socketPath = join(folder, 'sluice.sock')
  const more =
    redis === undefined ? [] : ['--redis', `redis://127.0.0.1:${redis}`, '--socket', socketPath]
  const env = { ...process.env, BYTES: String(bytes ?? 0), SOCKET: isSocket ? socketPath : '' }
  writeFileSync(join(folder, 'sluice.yaml'), RULES)
  const started = performance.now()
  const args = ['-c', '0', process.execPath, ...SERVERS[name].args, ...more]
  const child = spawn('taskset', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const hear = (chunk) => {
    said += chunk
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  while (!/:(\d+)\s/.test(said.replaceAll(/\d\d:\d\d:\d\d/g, ''))) {
    if (child.exitCode !== null) throw new Error(`${name} did not start: ${said}`)
    await Promise.race([
      once(child.stdout, 'data'),
      once(child.stderr, 'data'),
      once(child, 'exit'),
    ])
  }
  const port = Number(/:(\d+)\s/.exec(said)[1])
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const startMs = performance.now() - started
  socket.destroy()
  return {
    port,
    socket: socketPath,
    startMs,
    get megabytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024
    },
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
