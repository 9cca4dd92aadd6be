/** The settings of a server as a command line states them, with the environment and the configuration file. */
import { existsSync, readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { parse } from 'yaml'
import {
  readSettings,
  SETTINGS,
  type Settings,
  type Standards,
  standardOf,
  UsageError,
  variableOf,
} from '../config.js'
import type { Terminal } from './terminal.js'

export const STANDARD_CONFIG = 'sluice.config.yaml'

export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** What a setting is for a command, where that differs from what it is for `serve`. */
export interface OwnSettings {
  readonly standards?: Standards
  readonly help?: Readonly<Partial<Record<keyof typeof SETTINGS, string>>>
}

/** The flag of a setting, with its standard value and its variable. */
export function settingOption(name: keyof typeof SETTINGS, own: OwnSettings = {}): Option {
  const { kind, help, ...more } = SETTINGS[name]
  const flag = kind.placeholder === null ? `--${name}` : `--${name} <${kind.placeholder}>`
  const standard =
    standardOf(name, own.standards ?? {}) ?? ('standard' in more ? more.standard : false)
  const shown = standard === false ? '' : ` (${String(standard) || 'none'})`
  return new Option(flag, `${own.help?.[name] ?? help}${shown} [${variableOf(name)}]`)
}

export function addConfig(command: Command): Command {
  return command.option(
    '--config <FILE>',
    `settings by name; ${STANDARD_CONFIG} of the working folder where there is one`,
  )
}

export function statedSettings(
  options: Flags,
  { environment }: Terminal,
  standards: Standards = {},
): Settings {
  const flags = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      value,
    ]),
  )
  const stated = flags['config']
  const name = typeof stated === 'string' ? stated : STANDARD_CONFIG
  if (stated === undefined && !existsSync(name))
    return readSettings({ flags, environment, file: null, standards })
  return readSettings({
    flags,
    environment,
    file: { name, content: readConfig(name) },
    standards,
  })
}

function readConfig(name: string): unknown {
  try {
    return parse(readFileSync(name, 'utf8'))
  } catch (error) {
    throw new UsageError(`${name} cannot be read: ${(error as Error).message}`)
  }
}
