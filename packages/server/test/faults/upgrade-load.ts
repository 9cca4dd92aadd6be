/**
 * Clients that ask all instances of a fleet at once, on the same keys, and a ledger of what they were
 * granted and gave back. Receipts, reservations and holds are redeemed on any instance.
 */
import type { Answer } from '../service.js'
import { type Instance, type MixedFleet, pick } from './mixed-fleet.js'
import { COUNTED, HOLDS } from './upgrade-rules.js'

const CLIENTS = 3
const PHASES_A_KEY = 4
/** Of one request. */
export const MOST_COST = 3

/** What the clients know of one row. */
export interface Account {
  readonly rule: string
  readonly user: string
  /** Units of cost. */
  admitted: number
  /** Checks that were answered, and how many of them with no. */
  answered: number
  denied: number
  givenBack: number
  /** An instance was stopped before it answered: what it did for this row is not known. */
  lost: number
}

interface Paper {
  readonly account: Account
  readonly kind: 'receipt' | 'reservation'
  readonly text: string
}

export class UpgradeLoad {
  readonly #fleet: MixedFleet
  readonly accounts = new Map<string, Account>()
  readonly #papers: Paper[] = []
  /** Holds that are surely held, by user. */
  readonly #held = new Map<string, Set<string>>()
  /** Everything that must not happen, in words. */
  readonly failures: string[] = []
  /** How many answers each build gave. */
  readonly answers = { previous: 0, current: 0 }
  #phase = 0
  #isOver = false
  readonly #clients: Promise<void>[] = []

  constructor(fleet: MixedFleet) {
    this.#fleet = fleet
  }

  start(): void {
    for (let i = 0; i < CLIENTS; i++) this.#clients.push(this.#client())
  }

  /** From now on also keys that are not used up yet. */
  nextPhase(): void {
    this.#phase++
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
  }

  /** Asks for every key until it is denied, so that a bound that was exceeded shows. */
  async exhaust(): Promise<void> {
    for (const account of this.accounts.values()) {
      const before = account.denied
      while (account.denied === before)
        await Promise.all(Array.from({ length: CLIENTS }, () => this.#take(account, 'check')))
    }
  }

  async #client(): Promise<void> {
    while (!this.#isOver) {
      const chance = Math.random()
      const paper = chance < 0.2 ? this.#takePaper() : undefined
      if (paper !== undefined) await this.#redeem(paper)
      else if (chance < 0.3) await this.#hold()
      else if (chance < 0.4) await this.#check('reserve')
      else await this.#check('check')
    }
  }

  #takePaper(): Paper | undefined {
    const [paper] = this.#papers.splice(Math.floor(Math.random() * this.#papers.length), 1)
    return paper
  }

  #account(): Account {
    const rule = pick(Object.keys(COUNTED))!
    // The same keys over several phases, by instances of both builds, until they are used up.
    const user = `load-${Math.floor((this.#phase + Math.random() * PHASES_A_KEY) / PHASES_A_KEY)}`
    const key = `${rule} ${user}`
    let account = this.accounts.get(key)
    if (account === undefined) {
      account = { rule, user, admitted: 0, answered: 0, denied: 0, givenBack: 0, lost: 0 }
      this.accounts.set(key, account)
    }
    return account
  }

  async #check(route: 'check' | 'reserve'): Promise<void> {
    await this.#take(this.#account(), route)
  }

  async #take(account: Account, route: 'check' | 'reserve'): Promise<void> {
    const cost = route === 'check' ? 1 : MOST_COST
    const { rule, user } = account
    const asked = { subject: { user }, resource: `/${rule}`, cost }
    const answer = await this.#ask(`/v1/${route}`, asked)
    if (answer === null) account.lost++
    else account.answered++
    if (answer?.status === 429) account.denied++
    if (answer?.status !== 200) return
    account.admitted += cost
    const { receipt, reservation } = answer.body
    if (route === 'reserve') this.#papers.push({ account, kind: 'reservation', text: reservation })
    else if (Math.random() < 0.3) this.#papers.push({ account, kind: 'receipt', text: receipt })
  }

  /** On two instances at once, half of the time: it must give back once. */
  async #redeem({ account, kind, text }: Paper): Promise<void> {
    const asked = kind === 'receipt' ? { receipt: text } : { reservation: text, cost: 1 }
    const path = kind === 'receipt' ? '/v1/refund' : '/v1/settle'
    const times = Math.random() < 0.5 ? 2 : 1
    const answers = await Promise.all(
      Array.from({ length: times }, () => this.#ask(path, asked, [200, 409])),
    )
    if (answers.includes(null)) {
      account.lost++
      return
    }
    const given = new Set<number>()
    for (const answer of answers) {
      if (answer!.status === 200) given.add(givenBackBy(answer!))
      else if (answer!.body.error.code !== 'idempotency_in_progress')
        this.failures.push(`${path} ${answer!.text}`)
    }
    if (given.size !== 1) this.failures.push(`${path} gave back ${[...given].join(' and ')}`)
    account.givenBack += [...given][0] ?? 0
  }

  /** Takes a place, renews it on another instance, and releases it on a third. */
  async #hold(): Promise<void> {
    const user = `load-${this.#phase}`
    const held = this.#held.get(user) ?? new Set()
    this.#held.set(user, held)
    const answer = await this.#ask('/v1/check', { subject: { user }, resource: '/holds' })
    if (answer?.status !== 200) return
    const { hold } = answer.body
    held.add(hold)
    if (held.size > HOLDS) this.failures.push(`${held.size} holds at once`)
    if (Math.random() < 0.5) await this.#ask('/v1/renew', { hold }, [200])
    held.delete(hold)
    const released = await this.#ask('/v1/release', { hold }, [200])
    if (released !== null && released.body.released !== true)
      this.failures.push(`a hold was not there to be released: ${released.text}`)
  }

  /** The answer of some instance; null where it was stopped before it answered. */
  async #ask(path: string, body: object, expected = [200, 429]): Promise<Answer | null> {
    const instance = pick(this.#fleet.serving)!
    const asked = instance.process
    try {
      const answer = await instance.post(path, body)
      this.answers[instance.build]++
      const isDegraded = answer.body?.degraded === true
      if (!expected.includes(answer.status) || isDegraded)
        this.failures.push(`${instance.name} ${path} ${answer.status} ${answer.text}`)
      return answer
    } catch (error) {
      if (!isStopped(instance, asked))
        this.failures.push(`${instance.name} ${path} ${String(error)}`)
      return null
    }
  }
}

/** How many requests a refund or a settlement gave back. */
export function givenBackBy({ body }: Answer): number {
  return (body.refunded ?? body.given_back).requests ?? 0
}

function isStopped(instance: Instance, asked: Instance['process']): boolean {
  return instance.isStopping || instance.process !== asked
}
