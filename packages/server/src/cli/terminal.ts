/** How a command speaks: data on stdout, words on stderr; colour where somebody looks. */
import { styleText } from 'node:util'

export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'

export interface Terminal {
  /** Data. */
  out(text: string): void
  /** Words. */
  say(text: string): void
  /** All of stdin. */
  input(): Promise<Buffer>
  /** A line of stdin, without its end. */
  line(): Promise<string>
  /** Somebody may be asked. */
  readonly inIsTerminal: boolean
  /** Somebody looks at stdout, or at stderr. */
  readonly outIsTerminal: boolean
  readonly sayIsTerminal: boolean
  /** Of lines that are to be read, in characters. */
  readonly width: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly hasColor: boolean
  /** Of words. */
  readonly paint: (style: Style, text: string) => string
  /** Of data: a pipe gets none, whatever stderr is. */
  readonly paintData: (style: Style, text: string) => string
}

/** Longer lines are hard to read. */
const WIDEST = 110
/** In bytes; more than any rules file has. */
const LONGEST_INPUT = 128 * 1024 * 1024

interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

export interface Streams {
  readonly stdin: AsyncIterable<Buffer | string> & { readonly isTTY?: boolean }
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
}

export function terminalOf({ stdin, stdout, stderr, env }: Streams, wantsColor = true): Terminal {
  const isForced = (env['FORCE_COLOR'] ?? '') !== '' && env['FORCE_COLOR'] !== '0'
  const mayColor = wantsColor && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
  const hasColor = mayColor && (isForced || stderr.isTTY === true)
  const dataHasColor = mayColor && (isForced || stdout.isTTY === true)
  const paint = (style: Style, text: string) => styleText(style, text, { validateStream: false })
  return {
    out: (text) => void stdout.write(text),
    say: (text) => void stderr.write(text),
    input: async () => {
      const chunks: Buffer[] = []
      let length = 0
      for await (const chunk of stdin) {
        chunks.push(Buffer.from(chunk as string))
        length += chunk.length
        if (length > LONGEST_INPUT) throw new Error('stdin is longer than 128 MB')
      }
      return Buffer.concat(chunks)
    },
    line: async () => {
      let text = ''
      for await (const chunk of stdin) {
        text += chunk.toString()
        if (text.includes('\n')) break
      }
      return text.split('\n')[0]!.trim()
    },
    inIsTerminal: stdin.isTTY === true,
    outIsTerminal: stdout.isTTY === true,
    sayIsTerminal: stderr.isTTY === true,
    width: Math.min(stdout.columns ?? 80, WIDEST),
    environment: env,
    hasColor,
    paint: (style, text) => (hasColor ? paint(style, text) : text),
    paintData: (style, text) => (dataHasColor ? paint(style, text) : text),
  }
}
