/** A process that stores usage from a stream: the addresses of Redis and of PostgreSQL are its arguments. */
import { setTimeout as wait } from 'node:timers/promises'
import { ioredisOptions } from '@sluice/limiter/redis'
import { Redis } from 'ioredis'
import { openPostgres } from '../../src/control/postgres.js'
import { Log } from '../../src/telemetry/log.js'
import { UsageKeeper } from '../../src/usage/keeping.js'
import { UsageRecorder } from '../../src/usage/recorder.js'
import { StreamReader } from '../../src/usage/stream-reader.js'

const [, , redisUrl, databaseUrl, prefix, at] = process.argv
const database = openPostgres(databaseUrl!)
const redis = new Redis(redisUrl!, ioredisOptions)
redis.on('error', () => {})
const log = new Log({ write: () => undefined })
const now = () => Number(at)
const keeper = new UsageKeeper({ database, now, log })
const recorder = new UsageRecorder({ database, now, log, keeper })

const reader = new StreamReader({
  redis,
  prefix: prefix!,
  log,
  everyMs: 5,
  claimAfterMs: 100,
  record: async (batches) => {
    await recorder.record(batches)
    console.log(batches.length)
    // So that a kill falls between the commit and the word to Redis.
    await wait(50)
  },
})
reader.start()
// Its timers do not keep a process alive.
setInterval(() => undefined, 1000)
