/** The command in this process, with streams of its own, in a folder of its own; and as a process where that matters. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { runCommand } from '../../src/cli/program.js'
import { terminalOf } from '../../src/cli/terminal.js'
import { SluiceProcess } from '../process.js'

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly words: string
}

export interface RunOptions {
  /** Somebody looks: at both, unless said otherwise. */
  readonly isTerminal?: boolean
  /** Of stdout alone. */
  readonly outIsTerminal?: boolean
  readonly color?: boolean
  /** What somebody types, or what they do before they type it. */
  readonly input?: string | (() => Promise<string>)
  readonly environment?: Record<string, string>
}

export async function run(line: string, options: RunOptions = {}): Promise<Ran> {
  return runWords(line === '' ? [] : line.split(' '), options)
}

export async function runWords(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { isTerminal = true, color = false, input = '', environment = {} } = options
  const { outIsTerminal = isTerminal } = options
  let [out, words] = ['', '']
  const terminal = terminalOf({
    stdin: Object.assign(
      (async function* () {
        yield typeof input === 'string' ? input : await input()
      })(),
      { isTTY: isTerminal },
    ),
    stdout: { write: (text) => (out += text), isTTY: outIsTerminal },
    stderr: { write: (text) => (words += text), isTTY: isTerminal },
    env: color ? environment : { NO_COLOR: '1', ...environment },
  })
  return { code: await runCommand(args, terminal), out, words }
}

/** What a person sees, in the order of the streams. */
export function shown({ code, out, words }: Ran): string {
  return `\n${out}${words === '' ? '' : `--- words\n${words}`}[${code}]\n`
}

export async function runProcess(
  args: readonly string[],
  options: { folder?: string; environment?: Record<string, string> } = {},
): Promise<Ran> {
  const process = new SluiceProcess(args, options)
  const { code } = await process.ended
  return { code, out: process.out, words: process.words }
}

/** Each test works in an empty folder. */
export function inOwnFolder(): { write(file: string, text: string): void; readonly path: string } {
  const before = process.cwd()
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
    process.chdir(folder)
  })
  afterEach(() => {
    process.chdir(before)
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    write: (file, text) => writeFileSync(join(folder, file), text),
    get path() {
      return folder
    },
  }
}
