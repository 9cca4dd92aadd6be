// One caller asks checks one after the other while others ask for a great deal: its longest wait.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export const title = 'the longest wait of a check while others ask for a great deal'
export const cases = [
  { row: 'no other load', kind: 'none' },
  { row: '10 connections, 5,000 pipelined GET /metrics each', kind: 'metrics' },
  { row: 'the same without a token', kind: 'stranger' },
  { row: 'the same, and answers are not read', kind: 'unread' },
  { row: '10 connections, 5,000 pipelined checks in odd JSON each', kind: 'odd' },
  { row: 'PUT /v1/document, 60 MB of nested lists', kind: 'nested' },
  { row: 'PUT /v1/document, 15 MB of nested lists', kind: 'nested15' },
  { row: 'PUT /v1/document, 30,000 rules', kind: 'rules' },
]
export const goals = cases.map(({ row }) => ({ row, column: 'longest wait ms', most: 100 }))

const TOKEN = 'a'.repeat(64)
const CONNECTIONS = 10
const PIPELINED = 5000
const LEAST_MS = 3000

const HEADERS = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`

function pipelined(kind) {
  if (kind === 'stranger') return 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'
  if (kind !== 'odd') return `GET /metrics HTTP/1.1\r\n${HEADERS}\r\n`
  const body = '{"subject":{"\\u0075ser":"odd"},"resource":"/x"}'
  return `POST /v1/check HTTP/1.1\r\n${HEADERS}Content-Length: ${body.length}\r\n\r\n${body}`
}

function documentOf(kind) {
  if (kind === 'rules') {
    const rule = (i) => [`r${i}`, { scope: 'user', resource: `/r${i}`, limits: '10/s' }]
    return JSON.stringify({
      rules: Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => rule(i))),
    })
  }
  const unit = `[${'['.repeat(10)}${']'.repeat(10)}],`
  const bytes = (kind === 'nested15' ? 15 : 60) * 1024 * 1024
  return `{"scopes":[${unit.repeat(Math.floor(bytes / unit.length))}[]]}`
}

/** In a thread of its own, so that the measurement does not wait for it. */
async function attack({ port, kind }) {
  if (kind === 'none') return wait(LEAST_MS)
  if (['nested', 'nested15', 'rules'].includes(kind)) return put(port, documentOf(kind))
  const one = pipelined(kind)
  const text = one.repeat(PIPELINED - 1) + one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  await Promise.all(Array.from({ length: CONNECTIONS }, () => pipeline(port, text, kind)))
}

async function pipeline(port, text, kind) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  if (kind === 'unread') {
    socket.pause()
    await wait(LEAST_MS)
    socket.destroy()
    return
  }
  const over = once(socket, 'close')
  socket.resume()
  await Promise.race([over, wait(60_000)])
  socket.destroy()
}

function put(port, text) {
  return new Promise((resolve) => {
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/json',
      'If-Match': '*',
    }
    const sent = request({ port, host: '127.0.0.1', path: '/v1/document', method: 'PUT', headers })
    sent.on('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(`${response.statusCode} ${text.slice(0, 100)}`))
    })
    sent.on('error', (error) => resolve(String(error)))
    sent.end(text)
  })
}

function ask(port, agent) {
  const body = '{"subject":{"user":"ada"},"resource":"/hello"}'
  const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Length': body.length }
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      path: '/v1/check',
      method: 'POST',
      headers,
      agent,
    })
    sent.on('response', (response) => response.resume().on('end', resolve))
    sent.on('error', reject)
    sent.end(body)
  })
}

async function start(kind) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-starving-'))
  const isDocument = ['nested', 'nested15', 'rules'].includes(kind)
  if (!isDocument)
    writeFileSync(
      join(folder, 'sluice.yaml'),
      'rules: { hello: { scope: user, resource: /hello, limits: 1M/s } }\n',
    )
  const command = fileURLToPath(new URL('../bin/sluice.cjs', import.meta.url))
  const server = spawn(process.execPath, [command, 'serve', '--port', '0', '--drain-delay', '0'], {
    cwd: folder,
    env: { ...process.env, SLUICE_TOKEN: TOKEN },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let words = ''
  server.stderr.on('data', (chunk) => (words += chunk))
  const port = () => Number(/http:\/\/[^ :]+:(\d+)/.exec(words)?.[1])
  while (!(port() > 0)) await wait(20)
  const agent = new Agent({ keepAlive: true })
  // Until the database is there, too.
  const isThere = async () => (await put(port(), '{"rules":{}}')).startsWith('200')
  if (isDocument) while (!(await isThere())) await wait(200)
  for (let i = 0; i < 200; i++) await ask(port(), agent)
  return { folder, server, port: port(), agent }
}

const memoryOf = (pid) =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

export async function run({ kind }) {
  const { folder, server, port, agent } = await start(kind)
  const before = memoryOf(server.pid)
  const worker = new Worker(new URL(import.meta.url), { workerData: { port, kind } })
  const attacked = { isOver: false, answer: undefined }
  worker.once('message', (answer) => Object.assign(attacked, { isOver: true, answer }))
  const waits = []
  const began = performance.now()
  while (!attacked.isOver || performance.now() - began < LEAST_MS) {
    const asked = performance.now()
    await ask(port, agent)
    waits.push(performance.now() - asked)
    await wait(1)
  }
  const took = performance.now() - began
  waits.sort((a, b) => a - b)
  const result = {
    'longest wait ms': Math.round(waits.at(-1) * 10) / 10,
    'p99 ms': Math.round(waits[Math.floor(waits.length * 0.99)] * 10) / 10,
    checks: waits.length,
    'over after s': Math.round(took / 100) / 10,
    'server MB more': Math.round(memoryOf(server.pid) - before),
    ...(attacked.answer === undefined ? {} : { answer: attacked.answer }),
  }
  server.kill('SIGKILL')
  await once(server, 'exit')
  rmSync(folder, { recursive: true, force: true })
  return result
}

if (!isMainThread && workerData?.kind !== undefined) {
  const said = await attack(workerData)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort.postMessage(said)
}
