/** `sluice doctor`: looks at everything that a server leans on, and says what to do about it. */
import type { Command } from 'commander'
import { printable } from '../rules-file/print-faults.js'
import type { Finding } from './doctor/finding.js'
import { folderFinding, nodeFinding, rulesFindings } from './doctor/local-findings.js'
import { redisFindings } from './doctor/redis-findings.js'
import { serverFindings } from './doctor/server-findings.js'
import { EXIT, type SetExitCode } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { addConfig, type Flags, settingOption, statedSettings } from './stated-settings.js'
import type { Terminal } from './terminal.js'

const STYLES = { ok: 'green', warn: 'yellow', FAIL: 'red' } as const

export function addDoctor(program: Command, terminal: Terminal, setExitCode: SetExitCode): void {
  const command = program
    .command('doctor')
    .summary('find out what is wrong')
    .description(
      'Looks at Node, the rules file, the server, its Redis and its folder of counters. Exit 6: something is wrong.',
    )
  for (const name of ['rules', 'redis', 'data'] as const) command.addOption(settingOption(name))
  addConfig(command).action(async (flags: Flags, command: Command) => {
    const globals = globalsOf(command, terminal)
    const settings = statedSettings(flags, terminal)
    const { redis } = settings
    const findings: Finding[] = []
    const note = (more: readonly Finding[]) => {
      for (const finding of more) {
        findings.push(finding)
        if (!globals.json) terminal.out(print(finding, terminal))
      }
    }
    note([nodeFinding(process.version)])
    note(await rulesFindings(settings))
    if (redis === undefined) note([folderFinding(settings)])
    else note(await redisFindings(redis))
    note(await serverFindings(globals))
    const isWrong = findings.some(({ level }) => level === 'FAIL')
    if (globals.json) terminal.out(`${JSON.stringify({ ok: !isWrong, findings })}\n`)
    if (isWrong) setExitCode(EXIT.no)
  })
}

function print({ level, what, fix }: Finding, { paintData, outIsTerminal }: Terminal): string {
  if (!outIsTerminal)
    return `${[level, what, ...(fix === undefined ? [] : [`fix: ${fix}`])].map(printable).join('\t')}\n`
  const head = `${paintData(STYLES[level], level)}${' '.repeat(6 - level.length)}${printable(what)}\n`
  return fix === undefined ? head : `${head}      ${paintData('cyan', 'fix:')} ${printable(fix)}\n`
}
