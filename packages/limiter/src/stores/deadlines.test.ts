import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, vi } from 'vitest'
import { Deadlines } from './deadlines.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Answers from a thread of its own, so that it goes on while this one stands still. */
const ECHO = `
  const server = require('node:net').createServer((socket) => socket.pipe(socket))
  server.listen(0, '127.0.0.1', () => {
    require('node:worker_threads').parentPort.postMessage(server.address().port)
  })
`

describe('deadlines', () => {
  it('are missed once each, and only by those that were not met', async () => {
    const missed: number[] = []
    const deadlines = new Deadlines()
    const inTime = (n: number) => deadlines.deadline(deadlines.now() + 20, () => missed.push(n))
    const all = [1, 2, 3, 4].map(inTime)
    all[1]!.meet()
    await sleep(10)
    inTime(5)
    await vi.waitFor(() => expect(missed).toEqual([1, 3, 4, 5]), 10_000)
    inTime(6)
    await vi.waitFor(() => expect(missed).toContain(6), 10_000)
    await sleep(100)
    expect(missed).toEqual([1, 3, 4, 5, 6])
  })

  it('let go of what has met them', async () => {
    const deadlines = new Deadlines()
    const held = new WeakRef({ large: true })
    const hold = (what: object) => deadlines.deadline(deadlines.now() + 60_000, () => void what)
    hold(held.deref()!).meet()
    await sleep(10)
    collectGarbage()
    expect(held.deref()).toBeUndefined()
  })

  it('do not call an answer late that has arrived while this process stood still', async () => {
    const echo = new Worker(ECHO, { eval: true })
    const [port] = (await once(echo, 'message')) as [number]
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    let missed = 0
    const deadlines = new Deadlines()
    for (let round = 0; round < 5; round++) {
      const answered = once(socket, 'data')
      const deadline = deadlines.deadline(deadlines.now() + 30, () => missed++)
      socket.once('data', () => {
        deadline.meet()
      })
      socket.write('x')
      await new Promise((resolve) => setImmediate(resolve))
      const end = performance.now() + 60
      while (performance.now() < end);
      await answered
      await sleep(5)
    }
    expect(missed).toBe(0)
    socket.destroy()
    await echo.terminate()
  })
})
