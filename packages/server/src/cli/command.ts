/**
 * A command: the operations that it calls, its arguments, and what it prints. This file has what all commands
 * share: the client, the namespace, pages of lists, `--json`, tables, messages, confirmation, exit codes.
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

/** What a running command is given. */
export interface Run<
  Ids extends RouteId,
  A extends readonly Argument[],
  O extends readonly Flag[],
  Id extends RouteId = Ids,
> {
  readonly args: ArgumentValues<A>
  readonly options: FlagValues<O>
  /** The options that are query parameters of the operation. */
  readonly query: QueryOf<Id>
  readonly globals: Globals
  readonly terminal: Terminal
  readonly now: number
  readonly command: Command
  /** The client, created on first use. */
  readonly client: ServerClient<Ids>
  /** Prints something before the command ends. */
  readonly show: (shown: Shown) => void
  /** Asks for confirmation; ends the command where the answer is no. */
  readonly confirm: (question: string) => Promise<void>
}

/** What is printed for people; nothing of it with `--json`. */
export interface Shown {
  /** On stdout: whole lines, or the rows of a table. */
  readonly data?: string | readonly (readonly Cell[])[]
  /** On stderr: one line, which is escaped. */
  readonly words?: string | undefined
}

/** The result of a command. */
export interface Outcome extends Shown {
  /** The document of `--json`. */
  readonly json: unknown
  readonly exit?: number
}

/** Nothing where the command has printed everything already. */
type Ended = Outcome | void

/** The description of a command. */
interface Spec<
  Id extends RouteId,
  Also extends RouteId,
  A extends readonly Argument[],
  O extends readonly Flag[],
  R = Run<Id | Also, A, O, Id>,
> {
  /** Its line in the list of commands. */
  readonly summary: string
  readonly description: string
  readonly usage?: string
  readonly arguments?: A
  readonly options?: O
  /** The operation that it is about, and others that it calls. */
  readonly operation?: Id
  readonly also?: readonly Also[]
  /** Query parameters of the operation that are options. */
  readonly query?: QueryOptions<Id>
  /** What the operation is called with, besides those. */
  readonly ask?: (run: R) => Asking<Id> | Promise<Asking<Id>>
  /** For a list: the row of an item, and the message where there are no items. */
  readonly columns?: (item: ItemOf<Id>, run: R) => readonly Cell[]
  readonly empty?: string
  /** For other commands: what is printed of the answer. */
  readonly show?: (answer: AnswerOf<Id>, run: R) => Shown
  /** Runs instead of one call of the operation. */
  readonly run?: (run: R) => Ended | Promise<Ended>
  /** Adds what only this command has. */
  readonly setUp?: (command: Command) => void
}

/** A command needs `run`; or `show` or `columns`, and `ask` where the operation needs a body or path values. */
type Needed<Id extends RouteId> =
  | { readonly run: unknown }
  | (({ readonly show: unknown } | { readonly columns: unknown }) &
      (object extends Asking<Id> ? unknown : { readonly ask: unknown }))

/** Where commands print, and set the exit code. */
export interface Host {
  readonly terminal: Terminal
  readonly setExitCode: SetExitCode
}

/** Adds a command, or a group of commands, below another. */
export type AddTo = (parent: Command, host: Host) => void

const operations = new WeakMap<Command, readonly RouteId[]>()

/** The operations that a command calls. */
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

/** Any operation will do where the types do not matter. */
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

/** Without a terminal nobody can confirm, so `--yes` is needed. */
async function confirm(question: string, { yes, input }: Globals, terminal: Terminal) {
  if (yes) return
  if (!terminal.inIsTerminal || !terminal.sayIsTerminal || !input)
    throw new UsageError('no terminal to confirm on: pass --yes')
  terminal.say(`${question} [y/N] `)
  const answer = await terminal.line()
  if (!/^y(es)?$/i.test(answer)) throw new CommandError('Nothing was changed.')
}
