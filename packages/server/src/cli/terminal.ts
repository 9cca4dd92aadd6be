/** How a command speaks: data on stdout, words on stderr; colour where somebody looks. */
import { styleText } from 'node:util'

type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'

export interface Terminal {
  /** Data. */
  out(text: string): void
  /** Words. */
  say(text: string): void
  /** Somebody looks at stdout, or at stderr. */
  readonly outIsTerminal: boolean
  readonly sayIsTerminal: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly hasColor: boolean
  readonly paint: (style: Style, text: string) => string
}

export function terminalOf(
  { stdout, stderr, env }: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'env'>,
  wantsColor = true,
): Terminal {
  const isForced = (env['FORCE_COLOR'] ?? '') !== '' && env['FORCE_COLOR'] !== '0'
  const hasColor =
    wantsColor &&
    (env['NO_COLOR'] ?? '') === '' &&
    env['TERM'] !== 'dumb' &&
    (isForced || stderr.isTTY)
  return {
    out: (text) => void stdout.write(text),
    say: (text) => void stderr.write(text),
    outIsTerminal: stdout.isTTY,
    sayIsTerminal: stderr.isTTY,
    environment: env,
    hasColor,
    paint: (style, text) => (hasColor ? styleText(style, text) : text),
  }
}
