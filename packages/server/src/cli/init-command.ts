/** `sluice init`: a rules file to begin with. */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { STANDARD_FILE } from '../startup-sense.js'
import { CommandError } from './exit-codes.js'
import { globalsOf } from './globals.js'
import { SAMPLE_RULES } from './sample-rules.js'
import type { Terminal } from './terminal.js'
import { writeWhole } from './whole-file.js'

export function addInit(program: Command, terminal: Terminal): void {
  program
    .command('init')
    .summary(`write a ${STANDARD_FILE} to begin with`)
    .description(`Writes a ${STANDARD_FILE} with comments into the working folder.`)
    .option('--force', 'replace the one that is there')
    .action((options: { force?: boolean }, command: Command) => {
      const didReplace = write(options.force === true)
      if (globalsOf(command, terminal).json)
        terminal.out(`${JSON.stringify({ file: STANDARD_FILE, replaced: didReplace })}\n`)
      terminal.say(
        `${didReplace ? 'Replaced' : 'Wrote'} ${STANDARD_FILE}. Next: sluice serve --dev\n`,
      )
    })
}

/** Whether there was one before. */
function write(mayReplace: boolean): boolean {
  try {
    writeFileSync(STANDARD_FILE, SAMPLE_RULES, { flag: 'wx' })
    return false
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if (!mayReplace)
    throw new CommandError(
      `${STANDARD_FILE} is there already and was left as it is. To replace it: sluice init --force`,
    )
  writeWhole(STANDARD_FILE, SAMPLE_RULES)
  return true
}
