/** `sluice doctor`: looks at everything that a server leans on, and says what to do about it. */
import { printable } from '../../rules-file/print-faults.js'
import { command } from '../command.js'
import type { Finding } from '../doctor/finding.js'
import { folderFinding, nodeFinding, rulesFindings } from '../doctor/local-findings.js'
import { redisFindings } from '../doctor/redis-findings.js'
import { serverFindings } from '../doctor/server-findings.js'
import { EXIT } from '../exit-codes.js'
import { addConfig, settingOption, statedSettings } from '../stated-settings.js'
import type { Terminal } from '../terminal.js'

const STYLES = { ok: 'green', warn: 'yellow', FAIL: 'red' } as const

export const doctor = command('doctor', {
  operation: 'readiness',
  also: ['metrics', 'hot'],
  summary: 'find out what is wrong',
  description:
    'Looks at Node, the rules file, the server, its Redis and its folder of counters. Exit 6: something is wrong.',
  setUp: (made) => {
    for (const name of ['rules', 'redis', 'data'] as const) made.addOption(settingOption(name))
    addConfig(made)
  },
  run: async ({ options, globals, terminal, show }) => {
    const settings = statedSettings(options, terminal)
    const { redis } = settings
    const findings: Finding[] = []
    const note = (more: readonly Finding[]) => {
      findings.push(...more)
      for (const finding of more) show({ data: print(finding, terminal) })
    }
    note([nodeFinding(process.version)])
    note(await rulesFindings(settings))
    note(redis === undefined ? [folderFinding(settings)] : await redisFindings(redis))
    note(await serverFindings(globals))
    const isWrong = findings.some(({ level }) => level === 'FAIL')
    return { json: { ok: !isWrong, findings }, exit: isWrong ? EXIT.no : EXIT.yes }
  },
})

function print({ level, what, fix }: Finding, { paintData, outIsTerminal }: Terminal): string {
  if (!outIsTerminal)
    return `${[level, what, ...(fix === undefined ? [] : [`fix: ${fix}`])].map(printable).join('\t')}\n`
  const head = `${paintData(STYLES[level], level)}${' '.repeat(6 - level.length)}${printable(what)}\n`
  return fix === undefined ? head : `${head}      ${paintData('cyan', 'fix:')} ${printable(fix)}\n`
}
