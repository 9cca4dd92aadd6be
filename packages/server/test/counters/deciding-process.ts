/**
 * A process that counts in a folder as fast as it can, until it is killed. It says, at once and in this
 * order: `open`; before each batch `asked N`, how many it has admitted; after each write `kept N`, how
 * many it had admitted before that write began. Argument: the folder, and how long to wait between writes.
 */
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createLimiter } from '@sluice/limiter'
import { openCounters } from '../../src/counters/counters.js'
import { BATCH, COUNTED } from './counted.js'

const [, , folder, pauseMs] = process.argv
let admitted = 0
const say = (line: string) => writeSync(1, `${line}\n`)

try {
  const counters = openCounters(folder!, { intervalMs: 3_600_000 })
  const limiter = createLimiter({ ...COUNTED, store: counters.store })
  say('open')
  const batch = () => {
    say(`asked ${admitted}`)
    for (let i = 0; i < BATCH; i++) {
      const { allowed } = limiter.checkSync({ subject: { user: `u${admitted % 1000}` } })
      if (allowed) admitted++
    }
    setImmediate(batch)
  }
  batch()
  for (;;) {
    const before = admitted
    await counters.flush()
    say(`kept ${before}`)
    await setTimeout(Number(pauseMs))
  }
} catch (error) {
  say(`refused ${(error as Error).message}`)
}
