// A redis-server for benchmarks, on a core of its own where there is more than one.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { ioredisOptions } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'

export async function startServer() {
  const port = await freePort()
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', '/tmp']
  const canPin = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0
  const command = canPin ? ['taskset', '-c', '0', 'redis-server'] : ['redis-server']
  const child = spawn(command[0], [...command.slice(1), ...options], { stdio: 'ignore' })
  process.on('exit', () => child.kill('SIGKILL'))
  if (canPin) spawnSync('taskset', ['-a', '-p', '-c', '1', String(process.pid)])
  for (;;) {
    const client = new Redis(port, '127.0.0.1', { ...ioredisOptions, lazyConnect: true })
    client.on('error', () => {})
    try {
      await client.connect()
      return { port, client, stop: () => child.kill('SIGKILL') }
    } catch {
      client.disconnect()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

async function freePort() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Keeps `width` under way until `total` are done; answers per second, and this process's CPU time of each in µs. */
export async function flood(total, width, run) {
  const cpu = process.cpuUsage()
  const started = performance.now()
  let next = 0
  const worker = async () => {
    while (next < total) await run(next++)
  }
  await Promise.all(Array.from({ length: width }, worker))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: total / seconds, cpuUs: (user + system) / total }
}
