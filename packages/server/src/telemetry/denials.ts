/** Denials in the log: once a minute for each rule and subject, counted. Bounded, however many are denied. */
import {
  type DecisionRecord,
  explainDenial,
  MINUTE_MS,
  printValue,
} from '@sluice/limiter/transport'
import type { Log } from './log.js'

const MOST = 1000

interface Denial {
  readonly namespace: string
  readonly rule: string
  readonly scope: string
  readonly subject: string
  readonly code: string
  count: number
}

export class Denials {
  readonly #log: Log
  #counted = new Map<string, Denial>()
  #others = 0
  readonly #timer: ReturnType<typeof setInterval>

  constructor(log: Log, everyMs = MINUTE_MS) {
    this.#log = log
    this.#timer = setInterval(() => this.flush(), everyMs)
    this.#timer.unref()
  }

  /** The first of a minute is told at once. */
  note(decision: DecisionRecord, namespace: string): void {
    const rule = decision.rule ?? ''
    const scope = decision.scope ?? ''
    const index = Math.max(0, decision.topRule)
    const value = decision.transaction.values[index] ?? ''
    const key = `${namespace}|${rule}|${scope}|${value}`
    const known = this.#counted.get(key)
    if (known !== undefined) known.count++
    else if (this.#counted.size >= MOST) this.#others++
    else {
      const subject = printValue(scope, value)
      const code = decision.reason ?? 'limited'
      this.#counted.set(key, { namespace, rule, scope, subject, code, count: 0 })
      this.#log.info(explainDenial(decision), { code, namespace, rule, scope, subject, count: 1 })
    }
  }

  /** Tells how many more there were. */
  flush(): void {
    for (const { namespace, rule, scope, subject, code, count } of this.#counted.values()) {
      if (count > 0)
        this.#log.info('denied again', { code, namespace, rule, scope, subject, count })
    }
    if (this.#others > 0) this.#log.info('denied others', { code: 'limited', count: this.#others })
    this.#counted = new Map()
    this.#others = 0
  }

  close(): void {
    clearInterval(this.#timer)
    this.flush()
  }
}
