/** The rules file that a newcomer starts from: small, and every line says what it is for. */
import { VERSION } from '../version.js'

/** The package carries the schema; editors fetch it from where packages are. */
const SCHEMA = `https://unpkg.com/@sluice/server@${VERSION}/dist/rules.schema.json`

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
