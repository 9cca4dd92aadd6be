/**
 * What a command takes: arguments and options as it states them, with the types of what stands there, and
 * options that are parameters of an operation's query, whose flags, help and values are the contract's.
 */
import { propertiesOf, type RouteId, routeOf, type TSchema, validate } from '@sluice/contract'
import { quote } from '@sluice/limiter/transport'
import { type Command, Option } from 'commander'
import { UsageError } from '../config.js'
import type { QueryOf } from './operation.js'
import { readSince } from './times.js'

/** `<NAME>`, `[NAME]` or with dots for several, and what it is. */
export type Argument = readonly [name: string, description: string]
/** `--name` or `--name <VALUE>`, and what it means. */
export type Flag = readonly [flags: string, description: string, more?: FlagMore]
interface FlagMore {
  readonly standard?: string
  readonly isRequired?: true
}

type ArgumentValue<N extends string> = N extends `${string}...${'>' | ']'}`
  ? string[]
  : N extends `<${string}>`
    ? string
    : string | undefined
export type ArgumentValues<A extends readonly Argument[]> = {
  [I in keyof A]: ArgumentValue<A[I][0]>
}

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S
type FlagName<F extends string> = F extends `--${infer Name} <${string}>`
  ? Camel<Name>
  : F extends `--${infer Name}`
    ? Camel<Name>
    : never
type FlagValue<F extends Flag> = F[0] extends `${string}>`
  ? string | (F[2] extends FlagMore ? never : undefined)
  : true | undefined
export type FlagValues<O extends readonly Flag[]> = {
  readonly [F in O[number] as FlagName<F[0]>]: FlagValue<F>
}

export function addFlag(command: Command, [flags, description, more = {}]: Flag): void {
  const { standard, isRequired } = more
  const option = new Option(flags, description).makeOptionMandatory(isRequired === true)
  command.addOption(standard === undefined ? option : option.default(standard))
}

/** Which parameters are options: true for the contract's help, a text for other words. */
export type QueryOptions<Id extends RouteId> = {
  readonly [P in keyof QueryOf<Id>]?: true | string
}

interface Parameter {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly expected?: string
}

export function queryOptions<Id extends RouteId>(id: Id, wanted: QueryOptions<Id>): Option[] {
  return Object.entries(wanted).map(([name, help]) => {
    const parameter = parameterOf(id, name) as Parameter
    const flags = [flagOf(name), placeholderOf(name, parameter)].join(' ').trimEnd()
    return new Option(flags, typeof help === 'string' ? help : helpOf(parameter))
  })
}

/** What the options say, as the operation takes it. */
export function readQuery<Id extends RouteId>(
  id: Id,
  wanted: QueryOptions<Id>,
  options: Readonly<Record<string, unknown>>,
  now: number,
): QueryOf<Id> {
  const stated = Object.keys(wanted).flatMap((name) => {
    const value = options[new Option(flagOf(name)).attributeName()]
    return value === undefined ? [] : [[name, read(name, parameterOf(id, name), value, now)]]
  })
  return Object.fromEntries(stated) as QueryOf<Id>
}

const parameterOf = (id: RouteId, name: string): TSchema => propertiesOf(routeOf(id).query)[name]!

const flagOf = (name: string) => `--${name.replaceAll('_', '-')}`

function placeholderOf(name: string, { type, format }: Parameter): string {
  if (type === 'boolean') return ''
  if (type === 'integer') return '<N>'
  return format === 'date-time' ? '<TIME>' : `<${name.replaceAll('_', '-').toUpperCase()}>`
}

/** The contract's sentence, as the help of a command has it. */
function helpOf({ description = '' }: Parameter): string {
  const plain = description.replaceAll('`', '').replace(/\.$/, '')
  return plain.charAt(0).toLowerCase() + plain.slice(1)
}

function read(name: string, schema: TSchema, value: unknown, now: number): unknown {
  if (typeof value !== 'string') return value
  const { type, format, expected } = schema as Parameter
  if (format === 'date-time') return readSince(flagOf(name), value, now)
  if (type !== 'integer') return value
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (validate(schema, number).length === 0) return number
  throw new UsageError(`${flagOf(name)} is ${quote(value)}; expected ${expected}`)
}
