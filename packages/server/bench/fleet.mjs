// A control plane over PostgreSQL and Redis, and the data planes that follow it, each a process of its own.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../bin/sluice.cjs', import.meta.url))
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function freePort() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options })
  running.add(child)
  child.words = ''
  child.stderr?.on('data', (chunk) => {
    child.words = (child.words + chunk).slice(-20_000)
  })
  child.once('exit', () => running.delete(child))
  return child
}

async function until(what, holds) {
  const end = Date.now() + 60_000
  while (!(await holds().catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`)
    await wait(25)
  }
}

/** The programs of Debian's PostgreSQL, newest first. */
function programs() {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => b - a) : []
  if (versions.length === 0) throw new Error('PostgreSQL is missing: apt-get install postgresql')
  return join(root, versions[0], 'bin')
}

async function startPostgres() {
  const bin = programs()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-postgres-'))
  const port = await freePort()
  const isRoot = process.getuid?.() === 0
  const as = (program, args) =>
    isRoot ? ['runuser', ['-u', 'postgres', '--', program, ...args]] : [program, args]
  if (isRoot) {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })),
    )
    chownSync(folder, uid, gid)
  }
  const data = join(folder, 'data')
  const init = as(join(bin, 'initdb'), ['-D', data, '-U', 'sluice', '-A', 'trust', '-E', 'UTF8'])
  execFileSync(init[0], init[1], { stdio: 'ignore', cwd: '/' })
  const options = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', folder]
  const [command, args] = as(join(bin, 'postgres'), options)
  const child = start(command, args, { cwd: '/' })
  const ask = (...sql) =>
    execFileSync(
      join(bin, 'psql'),
      ['-h', '127.0.0.1', '-p', String(port), '-U', 'sluice', ...sql],
      {
        stdio: 'ignore',
      },
    )
  await until('PostgreSQL answers', async () => {
    ask('-d', 'postgres', '-c', 'CREATE DATABASE sluice')
    return true
  })
  return {
    url: `postgres://sluice@127.0.0.1:${port}/sluice`,
    stop: async () => {
      // The child may only be what changed the user.
      const [pid] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
      process.kill(Number(pid), 'SIGINT')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startRedis() {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()]
  const child = start('redis-server', args)
  await until('Redis listens', async () => {
    const { Redis } = await import('ioredis')
    const client = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return true
    } finally {
      client.disconnect()
    }
  })
  return { url: `redis://127.0.0.1:${port}`, stop: () => child.kill('SIGKILL') }
}

/** One Sluice, and how to ask it. */
class Instance {
  constructor(child, port, folder) {
    this.child = child
    this.port = port
    this.folder = folder
    this.agent = new Agent({ keepAlive: true, maxSockets: 8 })
  }

  ask(method, path, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const type = text === undefined ? {} : { 'Content-Type': 'application/json' }
      const options = { port: this.port, method, path, agent: this.agent }
      const sent = request({ ...options, headers: { ...type, ...headers } }, (answer) => {
        const chunks = []
        answer.on('data', (chunk) => chunks.push(chunk))
        answer.on('end', () => {
          const all = Buffer.concat(chunks).toString()
          resolve({
            status: answer.statusCode,
            headers: answer.headers,
            body: all === '' ? undefined : JSON.parse(all),
          })
        })
      })
      sent.on('error', reject)
      sent.end(text)
    })
  }

  /** Resident memory in megabytes. */
  get megabytes() {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024
  }
}

async function startSluice(args) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const port = await freePort()
  const child = start(process.execPath, [COMMAND, 'serve', '--port', String(port), ...args], {
    cwd: folder,
  })
  const instance = new Instance(child, port, folder)
  await until(`Sluice is ready: ${child.words}`, async () => {
    const { status } = await instance.ask('GET', '/readyz')
    return status === 200
  })
  return instance
}

export async function startFleet(planes) {
  const [postgres, redis] = [await startPostgres(), await startRedis()]
  const control = await startSluice(['--database', postgres.url, '--redis', redis.url])
  const data = []
  for (let i = 0; i < planes; i++)
    data.push(await startSluice(['--rules', 'feed', '--redis', redis.url]))
  return {
    control,
    data,
    stop: async () => {
      for (const instance of [control, ...data]) {
        instance.child.kill('SIGKILL')
        rmSync(instance.folder, { recursive: true, force: true })
      }
      redis.stop()
      await postgres.stop()
    },
  }
}
