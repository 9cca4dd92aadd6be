/** A socket whose other side has finished sending, with what of it is still to be read. */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

export function endedSocket(socket: Socket, bytes: Buffer): Duplex {
  const rest = new Duplex({
    allowHalfOpen: true,
    read() {
      this.push(bytes)
      this.push(null)
    },
    write(chunk, encoding, done) {
      socket.write(chunk, encoding, (error) => done(error))
    },
    final(done) {
      socket.end(() => done())
    },
    destroy(error, done) {
      socket.destroy()
      done(error)
    },
  })
  socket.on('error', () => rest.destroy())
  socket.on('close', () => rest.destroy())
  return rest
}
