/** `npm start` under a supervisor, which knows only npm's process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../limiter/test/redis/servers.js'
import { ask } from './service.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const folders: string[] = []
const groups: number[] = []
afterEach(() => {
  for (const group of groups.splice(0)) {
    try {
      process.kill(-group, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

interface Started {
  readonly child: ChildProcess
  readonly port: number
  readonly words: () => string
}

/** In a group of its own, so that nothing is left where a test fails. */
async function start(command: string, args: readonly string[]): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-npm-start-'))
  folders.push(folder)
  const { npm_lifecycle_event: _event, PORT: _port, ...env } = process.env
  const child = spawn(command, [...args, '--port', '0', '--data', folder, '--drain-delay', '0'], {
    cwd: ROOT,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  groups.push(child.pid!)
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      words += chunk.toString()
    })
  const port = () => Number(/http:\/\/localhost:(\d+)/.exec(words)?.[1])
  await until(`it is ready: ${words}`, async () => (await health(port())) === 200, 120_000)
  return { child, port: port(), words: () => words }
}

const health = (port: number) =>
  ask({ host: '127.0.0.1', port, method: 'GET', path: '/healthz', headers: {} }, null).then(
    ({ status }) => status,
  )

const isAnswering = (port: number) => health(port).then(Boolean, () => false)

describe('a server that npm start runs', () => {
  it.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'stops when npm alone gets %s',
    async (signal) => {
      const { child, port } = await start('npm', ['start', '--'])
      child.kill(signal)
      await once(child, 'exit')
      await until('the server has ended', async () => !(await isAnswering(port)), 15_000)
    },
  )

  it('goes on while npm does, also without a terminal', async () => {
    const { child, port } = await start('nohup', ['npm', 'start', '--'])
    await wait(1000)
    expect([child.exitCode, await health(port)]).toEqual([null, 200])
  })

  // bash becomes the command that it is given, so that npm is the server's parent; dash stays between them.
  it.each(['sh', 'bash'])(
    'goes on when whoever started npm has ended, run by %s',
    async (shell) => {
      const script = `npm start --script-shell=${shell} -- "$@" & wait`
      const { child, port } = await start('sh', ['-c', script, 'sh'])
      child.kill('SIGKILL')
      await once(child, 'exit')
      await wait(1000)
      expect(await health(port)).toBe(200)
    },
  )

  it('goes on without its parent where npm has not started it', async () => {
    const script = 'node scripts/start.cjs "$@" & sleep 0.2'
    const { child, port } = await start('sh', ['-c', script, 'sh'])
    if (child.exitCode === null) await once(child, 'exit')
    await wait(1000)
    expect(await health(port)).toBe(200)
  })
})
