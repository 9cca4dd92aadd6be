/** What was decided, on its way to whoever stores it. */
import type { ControlPlane } from '../control/control-plane.js'
import type { SupplyReading } from '../telemetry/metrics.js'
import { UsageKeeper } from '../usage/keeping.js'
import { UsageRecorder } from '../usage/recorder.js'
import { type Deliver, UsageSender } from '../usage/sender.js'
import { StreamReader } from '../usage/stream-reader.js'
import { Tally } from '../usage/tally.js'
import { UsageReader } from '../usage/usage-reader.js'
import { addToStream } from '../usage/usage-stream.js'
import type { FeedConnections } from './feed-connections.js'
import type { SupplyParts } from './parts.js'

export interface Usage {
  readonly tally: Tally
  readonly reader: UsageReader | null
  /** Of the sender, and of the recorder where there is one. */
  readonly reading: SupplyReading['usage']
}

/** Counted where somebody stores it: here, or a control plane that reads the stream. */
export function openUsage(
  control: ControlPlane | null,
  redis: FeedConnections | null,
  { settings, sense, backing, log, started }: SupplyParts,
): Usage | null {
  const now = () => backing.now()
  let reader: UsageReader | null = null
  let recorder: UsageRecorder | null = null
  let deliver: Deliver
  if (control !== null) {
    const { database, reads } = control
    const keeping = {
      detailDays: settings.usageDays,
      days: settings.usageHistoryDays,
      violationDays: settings.violationsDays,
    }
    reader = new UsageReader(reads, now, keeping)
    const keeper = new UsageKeeper({ database, now, log, keeping })
    void keeper.start()
    started.add(() => keeper.close())
    const made = new UsageRecorder({ database, now, log, keeper })
    recorder = made
    deliver = (batch) => made.record([batch])
    if (redis !== null) {
      const stream = new StreamReader({
        redis: redis.connect(),
        prefix: redis.prefix,
        record: (batches) => made.record(batches),
        log,
      })
      stream.start()
      started.add(() => stream.close())
    }
  } else if (sense.rules.kind === 'feed')
    deliver = addToStream(redis!.shared, { prefix: redis!.prefix })
  else return null
  const tally = new Tally(now())
  const sender = new UsageSender({ tally, deliver, now })
  sender.start()
  started.add(() => sender.close())
  const reading = recorder === null ? { instance: sender } : { instance: sender, control: recorder }
  return { tally, reader, reading }
}
