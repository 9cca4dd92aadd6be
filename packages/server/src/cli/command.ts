/**
 * A command: the operations that it asks, what it takes, and what it shows. What all commands have in common
 * is here: the client, the namespace, pages of lists, `--json`, tables, words, asking back, exit codes.
 */
import type { RouteId } from '@sluice/contract'
import type { Command } from 'commander'
import { UsageError } from '../config.js'
import { printable } from '../rules-file/print-faults.js'
import {
  type Argument,
  type ArgumentValues,
  addFlag,
  type Flag,
  type FlagValues,
  type QueryOptions,
  queryOptions,
  readQuery,
} from './command-options.js'
import { CommandError, type SetExitCode } from './exit-codes.js'
import { type Globals, globalsOf } from './globals.js'
import type { AnswerOf, Asking, ItemOf, QueryOf } from './operation.js'
import { ServerClient } from './server-client.js'
import { type Cell, printTable } from './table.js'
import type { Terminal } from './terminal.js'

/** A command line as it is carried out. */
export interface Run<
  Ids extends RouteId,
  A extends readonly Argument[],
  O extends readonly Flag[],
  Id extends RouteId = Ids,
> {
  readonly args: ArgumentValues<A>
  readonly options: FlagValues<O>
  /** Of the options that are parameters of the operation. */
  readonly query: QueryOf<Id>
  readonly globals: Globals
  readonly terminal: Terminal
  readonly now: number
  readonly command: Command
  /** The server that is meant; made when it is asked for. */
  readonly client: ServerClient<Ids>
  /** Before the end. */
  readonly show: (shown: Shown) => void
  /** Ends the command where the answer is no. */
  readonly confirm: (question: string) => Promise<void>
}

/** What people see; nothing of it with `--json`. */
export interface Shown {
  /** On stdout: lines that are ended, or rows of a table. */
  readonly data?: string | readonly (readonly Cell[])[]
  /** On stderr: a line, which is escaped. */
  readonly words?: string | undefined
}

/** How a command ends. */
export interface Outcome extends Shown {
  /** The document of `--json`. */
  readonly json: unknown
  readonly exit?: number
}

/** Nothing where the command has printed all of it. */
type Ended = Outcome | void

/** All that a command may say of itself. */
interface Spec<
  Id extends RouteId,
  Also extends RouteId,
  A extends readonly Argument[],
  O extends readonly Flag[],
  R = Run<Id | Also, A, O, Id>,
> {
  /** In the list of commands. */
  readonly summary: string
  readonly description: string
  readonly usage?: string
  readonly arguments?: A
  readonly options?: O
  /** The operation that it is about, and others that it asks. */
  readonly operation?: Id
  readonly also?: readonly Also[]
  /** Parameters of the operation that are options. */
  readonly query?: QueryOptions<Id>
  /** What the operation is asked with, besides those. */
  readonly ask?: (run: R) => Asking<Id> | Promise<Asking<Id>>
  /** Where it lists: the row of an item, and the words where there is none. */
  readonly columns?: (item: ItemOf<Id>, run: R) => readonly Cell[]
  readonly empty?: string
  /** Where it does not list: what people see of the answer. */
  readonly show?: (answer: AnswerOf<Id>, run: R) => Shown
  /** Instead of asking the operation once. */
  readonly run?: (run: R) => Ended | Promise<Ended>
  /** Adds what only this command has. */
  readonly setUp?: (command: Command) => void
}

/** A command says how it runs; or what it shows, and what the operation is asked with where that is needed. */
type Needed<Id extends RouteId> =
  | { readonly run: unknown }
  | (({ readonly show: unknown } | { readonly columns: unknown }) &
      (object extends Asking<Id> ? unknown : { readonly ask: unknown }))

/** Where commands print, and where they say how they ended. */
export interface Host {
  readonly terminal: Terminal
  readonly setExitCode: SetExitCode
}

/** Adds a command, or a group of commands, below another. */
export type AddTo = (parent: Command, host: Host) => void

const operations = new WeakMap<Command, readonly RouteId[]>()

/** The operations that a command asks. */
export const operationsOf = (command: Command): readonly RouteId[] => operations.get(command) ?? []

export function group(
  name: string,
  summary: string,
  description: string,
  commands: readonly AddTo[],
): AddTo {
  return (parent, host) => {
    const made = parent.command(name).summary(summary).description(description).helpCommand(false)
    for (const addTo of commands) addTo(made, host)
  }
}

export function command<
  const A extends readonly Argument[] = [],
  const O extends readonly Flag[] = [],
  const Id extends RouteId = never,
  const Also extends RouteId = never,
>(name: string, spec: Spec<Id, Also, A, O> & Needed<Id>): AddTo {
  return (parent, { terminal, setExitCode }) => {
    const { summary, description, usage, operation, also = [], query } = spec
    const made = parent.command(name).summary(summary).description(description)
    if (usage !== undefined) made.usage(usage)
    for (const [word, meaning] of spec.arguments ?? []) made.argument(word, meaning)
    for (const flag of spec.options ?? []) addFlag(made, flag)
    if (operation !== undefined)
      for (const option of queryOptions(operation, query ?? {})) made.addOption(option)
    spec.setUp?.(made)
    operations.set(made, [...(operation === undefined ? [] : [operation]), ...also])
    const untyped = spec as unknown as AnySpec
    made.action(async (...words: unknown[]) => {
      const run = runOf(words, terminal, untyped)
      const outcome = await outcomeOf(untyped, run)
      if (!outcome) return
      if (run.globals.json) terminal.out(`${JSON.stringify(outcome.json)}\n`)
      run.show(outcome)
      if (outcome.exit !== undefined) setExitCode(outcome.exit)
    })
  }
}

/** One operation stands for all where their types do not matter. */
type AnySpec = Spec<'listRules', never, readonly Argument[], []>
type AnyRun = Run<'listRules', readonly Argument[], []>

function runOf(words: readonly unknown[], terminal: Terminal, spec: AnySpec): AnyRun {
  const [options, command] = words.slice(-2) as [Readonly<Record<string, unknown>>, Command]
  const { operation, query = {} } = spec
  const globals = globalsOf(command, terminal)
  const now = Date.now()
  let client: ServerClient | undefined
  return {
    args: words.slice(0, -2) as string[],
    options,
    query: operation === undefined ? {} : readQuery(operation, query, options, now),
    globals,
    terminal,
    now,
    command,
    get client() {
      return (client ??= new ServerClient(globals))
    },
    show: ({ data, words: said }) => {
      if (globals.json) return
      if (data !== undefined)
        terminal.out(typeof data === 'string' ? data : printTable(data, terminal))
      if (said !== undefined) terminal.say(`${printable(said)}\n`)
    },
    confirm: (question) => confirm(printable(question), globals, terminal),
  }
}

async function outcomeOf(spec: AnySpec, run: AnyRun): Promise<Ended> {
  const { operation, ask, columns, show, empty } = spec
  if (spec.run !== undefined || operation === undefined) return spec.run?.(run)
  const asking = (await ask?.(run)) ?? {}
  const asked = { ...asking, query: { ...run.query, ...asking.query } }
  if (columns === undefined) {
    const { body } = await run.client.call(operation, asked)
    return { json: body, ...show?.(body, run) }
  }
  const items = await run.client.list(operation, asked)
  const data = items.map((item) => columns(item, run))
  return { json: { items }, data, words: items.length === 0 ? empty : undefined }
}

/** A pipe cannot be asked, so it must say so beforehand. */
async function confirm(question: string, { yes, input }: Globals, terminal: Terminal) {
  if (yes) return
  if (!terminal.inIsTerminal || !terminal.sayIsTerminal || !input)
    throw new UsageError('nobody can be asked here; --yes does it without asking')
  terminal.say(`${question} [y/N] `)
  const answer = await terminal.line()
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('Nothing was changed.')
}
