// How long one check takes over a Unix socket, asked one after the other: the servers in turns.
import { connect } from 'node:net'

const BODY = '{"subject":{"user":"ada"},"resource":"/v1/search","method":"GET"}'
const REQUEST = `POST /v1/check HTTP/1.1\r\nHost: sidecar\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const ROUNDS = 10
const CHECKS = 2000

export async function latencies(sockets) {
  const times = Object.fromEntries(Object.keys(sockets).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, path] of Object.entries(sockets)) {
      const all = await askInTurn(path)
      // The first round finds everything cold.
      if (round > 0) times[name].push(...all)
    }
  return Object.fromEntries(
    Object.entries(times).map(([name, all]) => {
      all.sort((a, b) => a - b)
      const at = (part) => 1000 * all[Math.floor(part * all.length)]
      return [name, { p50: at(0.5), p99: at(0.99) }]
    }),
  )
}

function askInTurn(path) {
  return new Promise((resolve, reject) => {
    const times = []
    const socket = connect(path)
    let sent = 0
    const ask = () => {
      sent = performance.now()
      socket.write(REQUEST)
    }
    socket.on('connect', ask)
    socket.on('error', reject)
    // An answer is small: it comes in one piece.
    socket.on('data', (chunk) => {
      times.push(performance.now() - sent)
      if (!chunk.toString('latin1', 0, 12).endsWith('200')) reject(new Error(chunk.toString()))
      if (times.length < CHECKS) return ask()
      socket.destroy()
      resolve(times)
    })
  })
}
