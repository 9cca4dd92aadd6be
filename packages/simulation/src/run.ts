/** One run: rules, instances and a load drawn from a seed, with faults, judged by what was spent. */
import { createLimiter, RuleSet, type RulesDocument } from '../../limiter/src/index.js'
import type { Counters } from './counters.js'
import { Instance } from './instance.js'
import { Ledger, type Worst } from './ledger.js'
import { Random } from './random.js'
import { FINE, Server, type Weather } from './server.js'
import { BEGINNING, World } from './world.js'

export interface Plan {
  readonly seed: number
  readonly rules: RulesDocument['rules'] & object
  readonly instances: number
  /** Requests a second, by all instances together, dealt anew among them every so often. */
  readonly perSecond: number
  readonly dealtEveryMs: number
  /** On average the load is there for so long, then not; 0: it is always there. */
  readonly onMs: number
  readonly offMs: number
  readonly costs: readonly number[]
  readonly subjects: readonly Readonly<Record<string, string>>[]
  readonly ms: number
  readonly weather: Weather
  /** Happens on average so often a second, to any instance. */
  readonly pauses: number
  readonly suspensions: number
  readonly deaths: number
  /** The server stands still, or its clock steps back, on average so often a second. */
  readonly stands: number
  readonly stepsBack: number
  /** By how much clocks run apart at most: a part. */
  readonly drift: number
}

export const QUIET = {
  weather: FINE,
  pauses: 0,
  suspensions: 0,
  deaths: 0,
  stands: 0,
  stepsBack: 0,
  drift: 0,
}

export interface Outcome {
  readonly worst: readonly Worst[]
  readonly asked: number
  readonly admitted: number
  /** What one strict limiter would have let through of the same requests. */
  readonly ideal: number
  readonly calls: number
  /** Decided from memory. */
  readonly local: number
  readonly granted: number
}

export async function play(plan: Plan, counters?: Counters): Promise<Outcome> {
  const random = new Random(plan.seed)
  const world = new World()
  const server = new Server(world, random, plan.weather, counters)
  const ledger = new Ledger(world)
  const end = BEGINNING + plan.ms * 1000
  const start = () =>
    new Instance({
      world,
      server,
      ledger,
      rules: RuleSet.compile({ rules: plan.rules }),
      random,
      clocks: {
        ahead: Math.round(random.between(-1, 1) * 1e6),
        drift: random.between(-plan.drift, plan.drift),
      },
    })
  const instances = Array.from({ length: plan.instances }, start)
  const all = [...instances]

  let weights = instances.map((_, i) => 1 / (i + 1) ** 1.2)
  repeat(world, plan.dealtEveryMs * 1000, () => {
    weights = random.shuffled(weights)
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const strict = createLimiter({
    rules: RuleSet.compile({ rules: plan.rules }),
    clock: () => world.now / 1000,
  })
  let ideal = 0
  let isOn = true
  const turn = () => {
    isOn = !isOn
    world.after(random.wait(1000 * (isOn ? plan.onMs : plan.offMs)), turn)
  }
  if (plan.offMs > 0) world.after(random.wait(1000 * plan.onMs), turn)
  const arrive = () => {
    world.after(random.wait(1e6 / plan.perSecond), arrive)
    if (!isOn) return
    let lot = random.next() * total
    const i = weights.findIndex((weight) => (lot -= weight) < 0)
    const [subject, cost] = [random.pick(plan.subjects), random.pick(plan.costs)]
    if (strict.checkSync({ subject, cost }).allowed) ideal += cost
    instances[Math.max(0, i)]!.check(subject, cost)
  }
  arrive()

  const often = happening(world, random)
  often(plan.pauses, () => random.pick(instances).pause(random.wait(600_000), false))
  often(plan.suspensions, () => random.pick(instances).pause(random.wait(600_000), true))
  often(plan.stands, () => server.stand(random.wait(200_000)))
  often(plan.stepsBack, () => {
    server.ahead -= random.between(0, random.chance(0.1) ? 4_000_000_000 : 300_000)
  })
  often(plan.deaths, () => {
    const i = random.whole(0, instances.length - 1)
    instances[i]!.die()
    instances[i] = start()
    all.push(instances[i])
  })

  await world.runUntil(end)
  const sum = (pick: 'local' | 'granted') =>
    all.reduce((total, { store }) => total + store.tally[pick], 0)
  return {
    worst: ledger.worst(),
    asked: ledger.asked,
    admitted: ledger.admitted,
    ideal,
    calls: server.calls,
    local: sum('local'),
    granted: sum('granted'),
  }
}

function repeat(world: World, us: number, step: () => void): void {
  world.after(us, () => {
    step()
    repeat(world, us, step)
  })
}

/** Does something on average so often a second. */
function happening(world: World, random: Random) {
  const happen = (perSecond: number, step: () => void): void => {
    if (perSecond === 0) return
    world.after(random.wait(1e6 / perSecond), () => {
      step()
      happen(perSecond, step)
    })
  }
  return happen
}
