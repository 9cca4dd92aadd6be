/** `sluice init`: a rules file to begin with. */
import { writeFileSync } from 'node:fs'
import { STANDARD_FILE } from '../../startup-sense.js'
import { VERSION } from '../../version.js'
import { command } from '../command.js'
import { CommandError } from '../exit-codes.js'
import { writeWhole } from '../rules-files.js'

/** The package carries the schema; editors fetch it from where packages are. */
const SCHEMA = `https://unpkg.com/@sluice/server@${VERSION}/dist/rules.schema.json`

/** Small, and every line says what it is for. */
export const SAMPLE_RULES = `# yaml-language-server: $schema=${SCHEMA}
#
# The limits of your API. A running server follows this file: saving applies.
# Look before you save: sluice rules validate, sluice explain user:ada GET /hello
version: 1

# Where no rule below fits, but a global one: everybody by address.
default_rule: { scope: ip, limits: 20/s }

# Names for groups, and who is in them.
tiers:
  pro: [user:grace]

rules:
  # The one to try: three requests, then wait.
  hello: { scope: user, resource: /hello, limits: 3 per 10s }

  # Each user, everywhere else. All limits of a list must pass.
  per-user:
    scope: user
    limits: [10/s, 1000/h burst 2000]
    tiers:
      pro: [50/s, 20k/h]

  # More specific rules replace wider ones of the same scope: here per-user.
  search:
    scope: user
    resource: GET /v1/search
    limits: 100 per 5m sliding

  # Guesses at passwords, by address. While the counters are out of reach nobody logs in.
  login:
    scope: ip
    resource: POST /login
    limits: [5 per 15m exact, 50/d]
    failure_mode: closed

  # Everybody together.
  everything: { scope: global, limits: 5000/s }

# What a request costs where it is not 1.
costs: { GET /v1/search: 2 }

# Let through all rules, and refused before any is asked.
exemptions: [user:healthcheck]
blocks:
  - { ip: 198.51.100.0/24, until: 2030-12-31, reason: card testing }
`

export const init = command('init', {
  summary: `write a ${STANDARD_FILE} to begin with`,
  description: `Writes a ${STANDARD_FILE} with comments into the working folder.`,
  options: [['--force', 'replace the one that is there']],
  run: ({ options: { force }, terminal }) => {
    const replaced = write(force === true)
    terminal.say(`${replaced ? 'Replaced' : 'Wrote'} ${STANDARD_FILE}. Next: sluice serve --dev\n`)
    return { json: { file: STANDARD_FILE, replaced } }
  },
})

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
