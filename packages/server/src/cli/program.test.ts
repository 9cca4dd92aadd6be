import { ROUTE_IDS, type RouteId } from '@sluice/contract'
import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { operationsOf } from './command.js'
import { programOf } from './program.js'
import { terminalOf } from './terminal.js'

const BY_APPLICATIONS = 'applications do it, with what a decision gave them'
const BY_FILE = 'rules are changed as a file: sluice rules apply'
const IN_THE_FILE = 'costs are a part of the rules file: sluice rules apply'

/** Operations that no command asks, and why. Whoever adds a route adds a command, or a line here. */
const WITHOUT_COMMAND: Partial<Record<RouteId, string>> = {
  refund: BY_APPLICATIONS,
  reserve: BY_APPLICATIONS,
  settle: BY_APPLICATIONS,
  renew: BY_APPLICATIONS,
  release: BY_APPLICATIONS,
  auth: 'gateways ask it, by headers',
  health: 'process managers ask it; sluice doctor asks whether it is ready',
  openapi: 'docs/reference has the document',
  createRule: BY_FILE,
  getRule: 'sluice rules list and export show it',
  replaceRule: BY_FILE,
  patchRule: BY_FILE,
  deleteRule: BY_FILE,
  listNamespaces: 'whoever asks names the namespace: --namespace',
  listCosts: 'sluice rules export shows them',
  setCost: IN_THE_FILE,
  deleteCost: IN_THE_FILE,
  listAudit: 'for reports; there is no command yet',
  usage: 'for reports; there is no command yet',
}

function* commandsOf(command: Command): IterableIterator<Command> {
  yield command
  for (const one of command.commands) yield* commandsOf(one)
}

describe('every operation', () => {
  it('has a command, or a reason why there is none', () => {
    const nobody = { write: () => undefined }
    const streams = { stdin: (async function* () {})(), stdout: nobody, stderr: nobody, env: {} }
    const program = programOf(terminalOf(streams), () => undefined)
    const asked = new Set([...commandsOf(program)].flatMap(operationsOf))
    const explained = new Set(Object.keys(WITHOUT_COMMAND) as RouteId[])
    expect(ROUTE_IDS.filter((id) => !asked.has(id) && !explained.has(id))).toEqual([])
    expect(ROUTE_IDS.filter((id) => asked.has(id) && explained.has(id))).toEqual([])
  })
})
