/**
 * The one reader of flags, environment and configuration file. A setting is a line of the table below: it
 * has a flag, a variable and a key in the file, all three of the same name; flags win, then variables.
 */
import { AUTH_HEADERS, type AuthHeader } from '@sluice/contract'
import { HEADER_FAMILIES, type HeaderFamily } from '@sluice/limiter'
import { didYouMean, list, quote } from '@sluice/limiter/transport'
import type { AnswerShape } from './decisions.js'
import { DOCUMENT_LIMITS } from './document-limits.js'
import { LEVELS, type Level } from './telemetry/log.js'

/** What a person must change before the command can run: no stack, exit 2. */
export class UsageError extends Error {}

interface Kind<T> {
  /** What stands for the value in help texts; none for a switch. */
  readonly placeholder: string | null
  /** Throws with what was expected. */
  read(text: string): T
}

const text: Kind<string> = { placeholder: 'TEXT', read: (value) => value }
const file: Kind<string> = { placeholder: 'FILE', read: (value) => value }
const folder: Kind<string> = { placeholder: 'DIR', read: (value) => value }
const url: Kind<string> = { placeholder: 'URL', read: (value) => value }

function whole(least: number, most: number): Kind<number> {
  return {
    placeholder: 'N',
    read: (value) => {
      const number = Number(value)
      if (/^\d+$/.test(value) && number >= least && number <= most) return number
      throw new UsageError(`expected a whole number from ${least} to ${most}`)
    },
  }
}

function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  return {
    placeholder: words.join('|'),
    read: (value) => {
      const word = words.find((known) => known === value)
      if (word !== undefined) return word
      throw new UsageError(`expected ${list(words)}${didYouMean(value, words)}`)
    },
  }
}

const yesOrNo: Kind<boolean> = {
  placeholder: null,
  read: (value) => {
    if (['true', '1', 'yes', ''].includes(value)) return true
    if (['false', '0', 'no'].includes(value)) return false
    throw new UsageError('expected true or false')
  },
}

/** The same as a value, for what is on unless somebody switches it off. */
const yesOrNoText: Kind<boolean> = { ...yesOrNo, placeholder: 'true|false' }

function listOf<const T extends string>(words: readonly T[]): Kind<readonly T[]> {
  return {
    placeholder: 'LIST',
    read: (value) =>
      value === 'none' ? [] : value.split(',').map((word) => oneOf(words).read(word.trim())),
  }
}

interface Setting<T> {
  readonly kind: Kind<T>
  readonly help: string
  readonly standard?: T
  /** Variables besides SLUICE_…: what others call it. */
  readonly also?: readonly string[]
  /** Not a flag: everybody on the machine can read those. */
  readonly isSecret?: boolean
}

type More = Pick<Setting<unknown>, 'also' | 'isSecret'>

const optional = <T>(kind: Kind<T>, help: string, more: More = {}) => ({ kind, help, ...more })

const usually = <T>(standard: T, kind: Kind<T>, help: string, more: More = {}) => ({
  kind,
  help,
  standard,
  ...more,
})

export const SETTINGS = {
  rules: optional(
    file,
    'the rules file (sluice.yaml of the working folder where there is one), or feed: follow a control plane over Redis',
  ),
  redis: optional(
    url,
    'counters in this Redis, shared: redis://, redis+cluster:// or redis+sentinel://',
    { also: ['REDIS_URL'] },
  ),
  'redis-prefix': usually('sluice', text, 'what every key in Redis starts with'),
  'redis-deadline': usually(100, whole(1, 60_000), 'milliseconds that a decision waits for Redis'),
  instances: usually(
    1,
    whole(1, 1_000_000),
    'how many instances share the limits, until they have counted each other',
  ),
  leases: usually<'on' | 'off'>(
    'off',
    oneOf(['on', 'off']),
    'take tokens from Redis ahead of time and spend them in memory; on in a sidecar, and a rule may say otherwise',
  ),
  database: optional(
    url,
    'rules, history and usage in this PostgreSQL; without it and without a rules file in --data',
    { also: ['DATABASE_URL'] },
  ),
  data: usually(
    '.sluice',
    folder,
    'where counters are kept that are not in Redis, the embedded database, and the last known rules',
  ),
  'audit-days': usually(90, whole(1, 36_500), 'days that the audit is kept'),
  'violations-days': usually(30, whole(1, 36_500), 'days that violations are kept'),
  'usage-days': usually(30, whole(1, 36_500), 'days that usage is kept by the minute'),
  'usage-history-days': usually(365, whole(1, 36_500), 'days that usage is kept by the day'),
  'max-keys': usually(
    1_000_000,
    whole(1, 2 ** 31),
    'keys kept in memory; above it a new key evicts another of its rule. Each rule may keep a fair part, so the number can be somewhat higher',
  ),
  'document-bytes': usually(
    DOCUMENT_LIMITS.mostBytes,
    whole(65_536, 268_435_456),
    'bytes of a rules document that is sent to the control plane at most',
  ),
  'document-depth': usually(
    DOCUMENT_LIMITS.deepest,
    whole(8, 64),
    'how deep lists and objects of such a document may be nested',
  ),
  host: usually(
    '127.0.0.1',
    text,
    'the address to listen on; any but a loopback one needs SLUICE_TOKEN',
  ),
  port: usually(4290, whole(0, 65_535), 'the port of REST and metrics; 0 takes a free one', {
    also: ['PORT'],
  }),
  socket: optional(file, 'listen on this Unix socket too (mode 0660)'),
  token: optional(text, 'what callers must show: Authorization: Bearer …', { isSecret: true }),
  'tls-cert': optional(file, 'certificates in PEM; read again when they change'),
  'tls-key': optional(file, 'their key'),
  'tls-client-ca': optional(file, 'callers must have a certificate of these authorities'),
  headers: usually<readonly HeaderFamily[]>(
    ['x-ratelimit', 'draft-11'],
    listOf(HEADER_FAMILIES),
    `headers of answers: ${HEADER_FAMILIES.join(', ')}, or none`,
  ),
  answers: usually<AnswerShape>(
    'lean',
    oneOf(['lean', 'full']),
    'the shape of decisions: lean, or full: as in the release before, with limits and receipt; full goes with the next release',
  ),
  'auth-headers': usually<readonly AuthHeader[]>(
    [],
    listOf(AUTH_HEADERS),
    `what GET /v1/auth reads besides scopes, resource and method: ${AUTH_HEADERS.join(', ')}, or none; a client must not be able to send these`,
  ),
  'max-connections': usually(10_000, whole(1, 1_000_000), 'connections at a time'),
  'request-timeout': usually(10_000, whole(100, 600_000), 'milliseconds for a request to arrive'),
  'idle-timeout': usually(
    75_000,
    whole(100, 3_600_000),
    'milliseconds that a connection may be idle',
  ),
  'drain-delay': usually(
    1000,
    whole(0, 8000),
    'milliseconds between not ready and not listening, when stopped',
  ),
  'fast-path': usually(
    true,
    yesOrNoText,
    'answer plain checks without node:http; tracing switches it off',
  ),
  'log-level': usually<Level>('info', oneOf(LEVELS), 'what is worth a line'),
  dev: usually(false, yesOrNo, 'for a first look: says what to try'),
} satisfies Record<string, Setting<unknown>>

type Table = typeof SETTINGS
type SettingName = keyof Table
type ValueOf<S> = S extends { kind: Kind<infer T> } ? T : never
type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

/** Every setting, by its name in camelCase; undefined where nothing was said and nothing is standard. */
export type Settings = {
  readonly [Name in SettingName as Camel<Name>]: Table[Name] extends { standard: unknown }
    ? ValueOf<Table[Name]>
    : ValueOf<Table[Name]> | undefined
} & {
  /** Settings that somebody stated, by name: others may give way. */
  readonly stated: ReadonlySet<string>
}

export interface Sources {
  /** By flag without its dashes. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The configuration file's content, read; and what it is called. */
  readonly file: { readonly name: string; readonly content: unknown } | null
  /** What holds where nobody says anything, for a command that has standards of its own. */
  readonly standards?: Standards
}

export type Standards = Partial<Omit<Settings, 'stated'>>

export function isSecret(name: SettingName): boolean {
  const setting: Setting<unknown> = SETTINGS[name]
  return setting.isSecret === true
}

export function variableOf(name: string): string {
  return `SLUICE_${name.toUpperCase().replaceAll('-', '_')}`
}

export function readSettings({ flags, environment, file, standards = {} }: Sources): Settings {
  const places = { flags, environment, content: fileContent(file), fileName: file?.name ?? '' }
  const stated = new Set<string>()
  const settings: Record<string, unknown> = { stated }
  for (const [name, entry] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const found = statedIn(name, entry, places)
    if (found !== undefined) stated.add(name)
    const standard = standardOf(name, standards) ?? entry.standard
    settings[camel(name)] = found === undefined ? standard : read(entry.kind, found)
  }
  return settings as Settings
}

/** What a command has for a setting instead of the standard of all. */
export function standardOf(name: string, standards: Standards): Standards[keyof Standards] {
  return standards[camel(name) as keyof Standards]
}

interface Found {
  readonly where: string
  readonly value: string
}

/** Where a setting can be stated, the first that has it wins. */
interface Places extends Pick<Sources, 'flags' | 'environment'> {
  readonly content: Readonly<Record<string, unknown>>
  readonly fileName: string
}

function statedIn(
  name: string,
  { also = [], isSecret = false }: Setting<unknown>,
  { flags, environment, content, fileName }: Places,
): Found | undefined {
  const flag = flags[name]
  if (flag !== undefined && !isSecret) return { where: `--${name}`, value: String(flag) }
  for (const variable of [variableOf(name), ...also]) {
    const value = environment[variable]
    if (value !== undefined && value !== '') return { where: variable, value }
  }
  const written = content[name]
  if (written === undefined || written === null) return undefined
  if (typeof written === 'object' && !Array.isArray(written))
    throw new UsageError(`${fileName}: ${name} is ${quote(written)}; expected a single value`)
  const value = Array.isArray(written)
    ? written.join(',')
    : `${written as string | number | boolean}`
  return { where: `${fileName}: ${name}`, value }
}

function read(kind: Kind<unknown>, { where, value }: Found): unknown {
  try {
    return kind.read(value)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`${where} is ${quote(value)}; ${error.message}`)
  }
}

function fileContent(file: Sources['file']): Readonly<Record<string, unknown>> {
  if (file === null || file.content === null || file.content === undefined) return {}
  const { name, content } = file
  if (typeof content !== 'object' || Array.isArray(content))
    throw new UsageError(`${name} is ${quote(content)}; expected settings by name`)
  const known = Object.keys(SETTINGS)
  const unknown = Object.keys(content).find((key) => !known.includes(key))
  if (unknown === undefined) return content as Record<string, unknown>
  throw new UsageError(`${name}: unknown setting ${quote(unknown)}${didYouMean(unknown, known)}`)
}

function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}
