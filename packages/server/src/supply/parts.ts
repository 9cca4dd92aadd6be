/** What everything that supplies rules is given. */
import type { Settings } from '../config.js'
import type { Backing } from '../counters/backing.js'
import type { RefusedRules } from '../rules-file/load-rules.js'
import type { TokenBook } from '../security/token-book.js'
import type { Started } from '../started.js'
import type { Sense } from '../startup-sense.js'
import type { Log } from '../telemetry/log.js'
import type { Meter } from '../telemetry/meter.js'
import type { Tenants } from '../tenants.js'

export interface SupplyParts {
  readonly settings: Settings
  readonly sense: Sense
  readonly log: Log
  readonly tenants: Tenants
  readonly tokens: TokenBook
  readonly meter: Meter
  readonly backing: Backing
  readonly started: Started
  /** A rules file was saved with faults; the rules before stay in force. */
  readonly refused: (file: string, refused: RefusedRules, revision: number) => void
}
