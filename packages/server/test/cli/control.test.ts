import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { readRules } from '../../src/rules-file/read-rules.js'
import { PostgresServer } from '../control/databases.js'
import { SluiceProcess } from '../process.js'
import { inOwnFolder, type RunOptions, run, runWords, shown } from './command.js'
import { type ControlServer, startControl } from './control-server.js'

const RULES = `# our limits
rules:
  per-user: { scope: user, limits: 10/s, tiers: { pro: 50/s } }
  search: { scope: user, resource: GET /v1/search, limits: 3 per 300d fixed }
  once: { scope: user, resource: /once, limits: 1 per 300d fixed }
tiers: { pro: [user:grace] }
costs: { GET /v1/search: 2 }
blocks:
  - { ip: 198.51.100.0/24, reason: card testing }
`

let server: ControlServer
beforeAll(async () => {
  server = await startControl()
}, 120_000)
afterAll(async () => {
  expect(server.failures).toEqual([])
  await server.stop()
})

const folder = inOwnFolder()
const address = () => ({ environment: { SLUICE_SERVER: `localhost:${server.port}` } })
const ask = (line: string, options: RunOptions = {}) => run(line, { ...address(), ...options })
const steady = (text: string) =>
  text
    .replace(/\d+ (s|min|h) ago/g, 'N s ago')
    .replace(/in \d+ (s|min|h)\b/g, 'in N')
    .replace(/revision \d+/g, 'revision N')
    .replace(/localhost:\d+/g, 'localhost:PORT')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'ID')
    .replace(/sluice_[\w-]{43}/g, 'sluice_SECRET')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
const seen = async (line: string, options: RunOptions = {}) =>
  steady(shown(await ask(line, options)))

describe('rules', () => {
  it('are planned, applied and the same afterwards', async () => {
    folder.write('sluice.yaml', RULES)
    expect(await seen('rules plan')).toMatchInlineSnapshot(`
      "
      + per-user                      10/s
      + per-user@pro                  50/s
      + search                        3 per 300d fixed
      + once                          1 per 300d fixed
      + tier user:grace               pro
      + block ip:198.51.100.0/24      always card testing
      + cost GET /v1/search requests  2
      --- words
      7 changes. To apply: sluice rules apply sluice.yaml
      [6]
      "
    `)
    expect(await seen('rules apply --yes')).toMatchInlineSnapshot(`
      "
      + per-user                      10/s
      + per-user@pro                  50/s
      + search                        3 per 300d fixed
      + once                          1 per 300d fixed
      + tier user:grace               pro
      + block ip:198.51.100.0/24      always card testing
      + cost GET /v1/search requests  2
      --- words
      Applied 7 changes: revision N.
      [0]
      "
    `)
    expect(await seen('rules plan sluice.yaml')).toMatchInlineSnapshot(`
      "
      --- words
      Nothing would change.
      [0]
      "
    `)
    expect(await seen('rules diff')).toMatchInlineSnapshot(`
      "
      --- words
      They are the same.
      [0]
      "
    `)
    expect(await seen('rules apply', { isTerminal: false })).toMatchInlineSnapshot(`
      "
      --- words
      Nothing to change.
      [0]
      "
    `)
    expect(await seen('rules list')).toMatchInlineSnapshot(`
      "
      once          user  /once           1 per 300d fixed
      per-user      user  *               10/s
      per-user@pro  user  *               50/s
      search        user  GET /v1/search  3 per 300d fixed
      [0]
      "
    `)
  })

  it('are listed by scope and resource, as the operation takes them', async () => {
    expect(await seen('rules list --resource /once')).toMatchInlineSnapshot(`
      "
      once  user  /once  1 per 300d fixed
      [0]
      "
    `)
    expect(await seen('rules list --scope org')).toMatchInlineSnapshot(`
      "
      --- words
      There are no rules.
      [0]
      "
    `)
    expect((await ask('rules list --help')).out).toMatchInlineSnapshot(`
      "Usage: sluice rules list [options]

      Lists the rules of the server: name, whom it is for, what it is about, its
      limits.

      Options:
        --scope <SCOPE>        only of this scope
        --resource <RESOURCE>  only of this resource, as it is written
        --label <LABEL>        only with this label: team:search, or team with any
                               value
        -h, --help             this text

      Global Options:
        -V, --version          the version
        --server <URL>         the server to ask (http://localhost:4290)
                               [SLUICE_SERVER]
        --token <TEXT>         what to show it; the variable is seen by fewer
                               [SLUICE_TOKEN]
        --namespace <NAME>     whose rules are meant
        --json                 one JSON document instead of words and tables
        --no-color             no colour, as NO_COLOR does
        --no-input             never ask back
        --yes                  do it without asking back
      "
    `)
  })

  it('say what a change does to counters', async () => {
    const changed = RULES.replace('10/s, tiers', '5/s, tiers')
      .replace('3 per 300d fixed', '3 per 300d sliding')
      .replace('  once:', '  renders: { scope: org, limits: 8 concurrent for 60s }\n  once:')
      .replace('user:grace', 'user:ada')
    folder.write('new.yaml', changed)
    expect(await seen('rules plan new.yaml')).toMatchInlineSnapshot(`
      "
      ~ per-user         10/s -> 5/s                             use carries over
      ! search           3 per 300d fixed -> 3 per 300d sliding  new counter, all start unused
      + renders          8 concurrent for 1m
      + tier user:ada    pro
      - tier user:grace  pro
      --- words
      5 changes. To apply: sluice rules apply new.yaml
      [6]
      "
    `)
    expect(await seen('rules diff new.yaml')).toMatchInlineSnapshot(`
      "
      --- http://localhost:PORT
      +++ new.yaml
      @@ -1,7 +1,7 @@
       version: 1
       tiers:
         pro:
      -    - user:grace
      +    - user:ada
       rules:
         once:
           scope: user
      @@ -11,10 +11,14 @@
         per-user:
           scope: user
           limits:
      -      - 10/s
      +      - 5/s
           tiers:
             pro:
               - 50/s
      +  renders:
      +    scope: org
      +    limits:
      +      - 8 concurrent for 1m
         search:
           scope: user
           resource: /v1/search
      @@ -21,7 +25,7 @@
           methods:
             - GET
           limits:
      -      - 3 per 300d fixed
      +      - 3 per 300d sliding
       costs:
         GET /v1/search:
           requests: 2
      [6]
      "
    `)
    const { out, code } = await ask('rules plan new.yaml --json')
    expect(code).toBe(6)
    expect(JSON.parse(out).changes).toContainEqual({
      what: 'rule',
      name: 'per-user',
      change: 'changed',
      before: '10/s',
      after: '5/s',
      counters: 'carry over',
    })
  })

  it('are asked about before they change, on a terminal', async () => {
    folder.write('sluice.yaml', RULES.replace('10/s, tiers', '7/s, tiers'))
    expect(await seen('rules apply', { input: 'n\n' })).toMatchInlineSnapshot(`
      "
      ~ per-user  10/s -> 7/s  use carries over
      --- words
      Apply 1 change to http://localhost:PORT? [y/N] Nothing was changed.
      [1]
      "
    `)
    expect(await seen('rules apply', { isTerminal: false })).toMatchInlineSnapshot(`
      "
      ~	per-user	10/s -> 7/s	use carries over
      --- words
      nobody can be asked here; --yes does it without asking
      [2]
      "
    `)
    expect(await seen('rules apply --no-input')).toMatchInlineSnapshot(`
      "
      ~ per-user  10/s -> 7/s  use carries over
      --- words
      nobody can be asked here; --yes does it without asking
      [2]
      "
    `)
    expect((await ask('rules list')).out).toContain('10/s')
    expect(await seen('rules apply', { input: 'y\n' })).toMatchInlineSnapshot(`
      "
      ~ per-user  10/s -> 7/s  use carries over
      --- words
      Apply 1 change to http://localhost:PORT? [y/N] Applied 1 change: revision N.
      [0]
      "
    `)
    expect((await ask('rules list')).out).toContain('7/s')
  })

  it("do not overwrite somebody else's change", async () => {
    folder.write('sluice.yaml', RULES.replace('10/s, tiers', '6/s, tiers'))
    const change = async () => {
      const { text } = await server.control.documents.read('default')
      const caller = { name: 'other', id: 'other', role: 'admin' as const, namespaces: null }
      const other = { ...JSON.parse(text), scopes: ['team'] }
      await server.control.documents.apply(caller, 'default', other, { ifMatch: 'any' })
      return 'y\n'
    }
    expect(await seen('rules apply', { input: change })).toMatchInlineSnapshot(`
      "
      ~ per-user  7/s -> 6/s  use carries over
      --- words
      Apply 1 change to http://localhost:PORT? [y/N] Somebody else has changed the rules meanwhile; nothing was applied. See what they did and plan again: sluice rules plan
      [1]
      "
    `)
    expect((await ask('rules list')).out).not.toContain('6/s')
    folder.write('sluice.yaml', RULES.replace('10/s, tiers', '7/s, tiers'))
    expect((await ask('rules apply --yes')).code).toBe(0)
  })

  it('come back as a file that is good and says the same', async () => {
    const { out, code } = await ask('rules export')
    expect(code).toBe(0)
    expect(readRules(out)).not.toHaveProperty('faults')
    folder.write('exported.yaml', out)
    expect((await ask('rules plan exported.yaml')).code).toBe(0)
    expect((await ask('rules fmt --check exported.yaml')).code).toBe(0)
    expect(out).toMatchInlineSnapshot(`
      "version: 1
      tiers:
        pro:
          - user:grace
      rules:
        per-user:
          scope: user
          limits:
            - 7/s
          tiers:
            pro:
              - 50/s
        search:
          scope: user
          limits:
            - 3 per 300d fixed
          methods:
            - GET
          resource: /v1/search
        once:
          scope: user
          limits:
            - 1 per 300d fixed
          resource: /once
      costs:
        GET /v1/search:
          requests: 2
      blocks:
        - ip: 198.51.100.0/24
          reason: card testing
      "
    `)
  })

  it('have a history, and go back', async () => {
    expect(await seen('rules history per-user')).toMatchInlineSnapshot(`
      "
      2  N s ago  this machine  7/s
      1  N s ago  this machine  10/s
      [0]
      "
    `)
    expect(await seen('rules rollback per-user 1 --yes')).toMatchInlineSnapshot(`
      "
      ~ per-user  7/s -> 10/s
      --- words
      per-user is as it was in version 1; that is version 3.
      [0]
      "
    `)
    expect((await ask('rules list')).out).toContain('10/s')
    expect(await seen('rules rollback per-user', { input: 'yes\n' })).toMatchInlineSnapshot(`
      "
      ~ per-user  10/s -> 7/s
      --- words
      Bring back version 2? [y/N] per-user is as it was in version 2; that is version 4.
      [0]
      "
    `)
    expect(await seen('rules rollback per-user 99 --yes')).toMatchInlineSnapshot(`
      "
      --- words
      per-user has no such version to go back to.
      [1]
      "
    `)
    expect(await seen('rules rollback per-user x --yes')).toMatchInlineSnapshot(`
      "
      --- words
      the version is "x"; expected a number of the history
      [2]
      "
    `)
    expect(await seen('rules history nobody')).toMatchInlineSnapshot(`
      "
      --- words
      There is no rule nobody. See: sluice rules list. What was deleted has its id in the audit.
      [1]
      "
    `)
    expect(await seen('rules rollback per-user 1 --yes')).toContain('[0]')
  })

  it('say in lists and before going back what is not as usual, field by field', async () => {
    const written = (rule: string) => {
      folder.write('noted.yaml', `rules: { noted: { scope: user, limits: 5/s, ${rule} } }\n`)
      return ask('rules apply noted.yaml --namespace noted --yes')
    }
    await written('shadow: true, unit: tokens, rollout: 20, lease: on, priority: bulk')
    expect(await seen('rules list --namespace noted')).toMatchInlineSnapshot(`
      "
      noted  user  *  5/s  in tokens, shadow, rollout 20%, lease on, priority bulk
      [0]
      "
    `)
    await written('enabled: false, message: none, labels: { team: a b, cost: x }')
    expect(await seen('rules rollback noted --namespace noted --yes')).toMatchInlineSnapshot(`
      "
      ~ noted  unit requests, enabled false, shadow false, rollout 100%, lease unset, message "none", labels cost:x team:"a b", priority unset -> unit tokens, enabled true, shadow true, rollout 20%, lease on, message none, labels none, priority bulk
      --- words
      noted is as it was in version 1; that is version 3.
      [0]
      "
    `)
    expect(await seen('rules rollback noted --namespace noted --yes')).toMatchInlineSnapshot(`
      "
      ~ noted  unit tokens, enabled true, shadow true, rollout 20%, lease on, message none, labels none, priority bulk -> unit requests, enabled false, shadow false, rollout 100%, lease unset, message "none", labels cost:x team:"a b", priority unset
      --- words
      noted is as it was in version 2; that is version 4.
      [0]
      "
    `)
  })

  it('are refused with all faults, by their places', async () => {
    folder.write('sluice.yaml', 'rules:\n  a: { scope: user, limits: 10/mon }\n')
    const { code, words } = await ask('rules plan')
    expect(code).toBe(3)
    expect(words).toContain('sluice.yaml:2:')
    expect(await seen('rules apply nowhere.yaml')).toMatchInlineSnapshot(`
      "
      --- words
      There is no nowhere.yaml here.
      [1]
      "
    `)
    folder.write('sluice.yaml', 'namespace: a\nrules: {}\n')
    expect(await seen('rules plan --namespace b')).toMatchInlineSnapshot(`
      "
      --- words
      --namespace is b, and the file is of a
      [2]
      "
    `)
  })

  it('are applied to a namespace that does not exist yet', async () => {
    folder.write('sluice.yaml', 'namespace: acme\nrules: { all: { scope: global, limits: 5/s } }\n')
    expect((await ask('rules plan')).code).toBe(6)
    expect((await ask('rules apply --yes')).code).toBe(0)
    expect(await seen('rules list --namespace acme')).toMatchInlineSnapshot(`
      "
      all  global  *  5/s
      [0]
      "
    `)
    expect((await ask('rules plan')).code).toBe(0)
  })
})

describe('a subject', () => {
  it('is shown with its limits, and why', async () => {
    await ask('check user:ada GET /v1/search')
    expect(await seen('subject show user:ada GET /v1/search')).toMatchInlineSnapshot(`
      "
      user:ada  no tier
        search  3 per 300d fixed  1 of 3 left  /v1/search of search beats *
      [0]
      "
    `)
    expect(await seen('subject show user:grace')).toMatchInlineSnapshot(`
      "
      user:grace  tier pro
        per-user@pro  50/s  50 of 50 left  tier pro of per-user@pro beats no tier
      [0]
      "
    `)
    expect(await seen('subject show ip:198.51.100.7')).toMatchInlineSnapshot(`
      "
      ip:198.51.100.7  BLOCKED
      [0]
      "
    `)
  })

  it('has a tier, and none any more', async () => {
    expect(await seen('subject tier user:ada pro')).toMatchInlineSnapshot(`
      "
      --- words
      user:ada is in tier pro.
      [0]
      "
    `)
    expect((await ask('subject show user:ada')).out).toContain('tier pro')
    expect(await seen('subject tier user:ada --remove')).toMatchInlineSnapshot(`
      "
      --- words
      user:ada is in no tier.
      [0]
      "
    `)
    expect((await ask('subject show user:ada')).out).toContain('no tier')
    expect(await seen('subject tier user:ada')).toMatchInlineSnapshot(`
      "
      --- words
      which tier? Name it, or say --remove
      [2]
      "
    `)
    expect(await seen('subject tier ada pro')).toMatchInlineSnapshot(`
      "
      --- words
      "ada" is not scope:value; expected a subject such as user:42
      [2]
      "
    `)
  })

  it('has an override until a time, and none any more', async () => {
    const override = ['subject', 'override', 'user:ada', 'search']
    const given = await runWords(
      [...override, '100 per 300d fixed', '--until', '2h', '--reason', 'a test'],
      address(),
    )
    expect(steady(shown(given))).toMatchInlineSnapshot(`
      "
      --- words
      user:ada has 100 per 300d fixed of search, ends in N.
      [0]
      "
    `)
    expect(await seen('subject show user:ada GET /v1/search')).toMatchInlineSnapshot(`
      "
      user:ada  no tier
        search  100 per 300d fixed  98 of 100 left  an override, ends in N: a test
      [0]
      "
    `)
    expect(await seen('subject override user:ada search --remove')).toMatchInlineSnapshot(`
      "
      --- words
      user:ada has the limits of search again.
      [0]
      "
    `)
    expect(await seen('subject override user:ada search --remove')).toMatchInlineSnapshot(`
      "
      --- words
      user:ada has no override of "search" (not_found; see: sluice help not_found)
      [1]
      "
    `)
    expect(await seen('subject override user:ada search')).toMatchInlineSnapshot(`
      "
      --- words
      which limits? Name them, or say --remove
      [2]
      "
    `)
    expect(await seen('subject override user:ada nothing 5/s')).toMatchInlineSnapshot(`
      "
      --- words
      rule "nothing" is not the name of a rule (invalid_rules; see: sluice help invalid_rules)
      [3]
      "
    `)
    expect(
      await seen('subject override user:ada search 5/s --until yesterday'),
    ).toMatchInlineSnapshot(`
      "
      --- words
      --until is "yesterday"; expected a time such as TIME, or 2h, 7d from now
      [2]
      "
    `)
    expect(
      await seen('subject override user:ada search 5/s --until 2020-01-01'),
    ).toMatchInlineSnapshot(`
      "
      --- words
      --until is "2020-01-01", which is over
      [2]
      "
    `)
  })

  it('is blocked, is exempt, and is neither any more', async () => {
    expect(await seen('subject block user:eve --until 7d --reason fraud')).toMatchInlineSnapshot(`
      "
      --- words
      user:eve is blocked, ends TIME.
      [0]
      "
    `)
    expect((await ask('check user:eve /x')).code).toBe(6)
    expect(await seen('subject show user:eve')).toMatchInlineSnapshot(`
      "
      user:eve  BLOCKED
      [0]
      "
    `)
    expect(await seen('subject block user:eve --remove')).toMatchInlineSnapshot(`
      "
      --- words
      user:eve is no longer blocked.
      [0]
      "
    `)
    expect(await seen('subject block user:eve --remove')).toMatchInlineSnapshot(`
      "
      --- words
      user:eve is not blocked.
      [6]
      "
    `)
    expect((await ask('check user:eve /x')).code).toBe(0)
    expect(await seen('subject exempt user:root')).toMatchInlineSnapshot(`
      "
      --- words
      user:root is exempt.
      [0]
      "
    `)
    expect(await seen('subject show user:root')).toMatchInlineSnapshot(`
      "
      user:root  exempt from all rules
      [0]
      "
    `)
    expect(await seen('subject exempt user:root --remove --json')).toMatchInlineSnapshot(`
      "
      {"removed":1}
      [0]
      "
    `)
  })

  it('is reset', async () => {
    await ask('check user:bob /once')
    expect((await ask('check user:bob /once')).code).toBe(6)
    expect(await seen('subject reset user:bob --rule once')).toMatchInlineSnapshot(`
      "
      --- words
      1 counter of user:bob reset.
      [0]
      "
    `)
    expect((await ask('check user:bob /once')).code).toBe(0)
    expect(await seen('subject reset user:nobody')).toMatchInlineSnapshot(`
      "
      --- words
      Nothing was used.
      [0]
      "
    `)
  })
})

describe('violations', () => {
  it('say who was denied when, by what, on what', async () => {
    for (let i = 0; i < 4; i++) await ask('check user:zoe GET /v1/search')
    await ask('check ip:198.51.100.7 /hello')
    await server.store()
    // They may have come in two seconds.
    const lines = (await ask('violations --subject user:zoe --from 5m')).out.trim().split('\n')
    for (const line of lines)
      expect(line).toMatch(
        /^\S+Z  \d+ s ago  user:zoe  [123]x  search  3 per 300d fixed  \/v1\/search$/,
      )
    expect(lines.reduce((sum, line) => sum + Number(/(\d)x/.exec(line)![1]), 0)).toBe(3)
    expect(await seen('violations --rule once --subject user:zoe')).toMatchInlineSnapshot(`
      "
      --- words
      Nobody was denied.
      [0]
      "
    `)
    expect(await seen('violations --subject ip:198.51.100.7')).toMatchInlineSnapshot(`
      "
      TIME  N s ago  ip:198.51.100.7  1x  a block  -  /hello  blocked
      [0]
      "
    `)
    const piped = await ask('violations --subject user:zoe', { isTerminal: false })
    for (const line of piped.out.trim().split('\n')) expect(line.split('\t').length).toBe(7)
    const json = JSON.parse((await ask('violations --subject user:zoe --json')).out)
    expect(json.totals.count).toBe(3)
    expect(await seen('violations --from then')).toMatchInlineSnapshot(`
      "
      --- words
      --from is "then"; expected a time such as 10:02 or TIME, or 2h, 7d ago
      [2]
      "
    `)
    expect(await seen('violations --limit 0')).toMatchInlineSnapshot(`
      "
      --- words
      --limit is "0"; expected a whole number from 1 to 1000
      [2]
      "
    `)
    expect(await seen('violations --follow --to 1h')).toMatchInlineSnapshot(`
      "
      --- words
      --to does not go with --follow
      [2]
      "
    `)
  })

  it('are followed as they happen, each once', async () => {
    const { code } = await ask('check user:ann /once')
    expect(code).toBe(0)
    const args = [
      'violations',
      '--follow',
      '--json',
      '--subject',
      'user:ann',
      '--server',
      `localhost:${server.port}`,
    ]
    const following = new SluiceProcess(args)
    const counted = () =>
      following.out
        .split('\n')
        .filter((line) => line !== '')
        .reduce((sum, line) => sum + JSON.parse(line).count, 0)
    for (let denied = 1; denied <= 3; denied++) {
      await ask('check user:ann /once')
      await server.store()
      await until(`${denied} to be shown: ${following.words}`, () => counted() === denied)
    }
    await following.stop('SIGTERM')
    expect(counted()).toBe(3)
  })
})

describe('tokens', () => {
  it('are given out once, listed and revoked', async () => {
    const made = await ask('token create ci --role client --until 30d')
    expect(steady(shown(made))).toMatchInlineSnapshot(`
      "
      sluice_SECRET
      --- words
      This is ci, client of default. It is not shown again.
      [0]
      "
    `)
    expect((await ask('token list')).out).not.toContain(made.out.trim())
    await ask('token create all --role admin --for-all')
    expect((await seen('token list')).split('\n').toSorted().join('\n')).toMatchInlineSnapshot(`
      "

      ID  all  admin   all namespaces  no end
      ID  ci   client  default         ends TIME
      [0]"
    `)
    expect(await seen('token revoke ci', { input: 'n\n' })).toMatchInlineSnapshot(`
      "
      --- words
      Revoke ci? [y/N] Nothing was changed.
      [1]
      "
    `)
    expect(await seen('token revoke ci --yes')).toMatchInlineSnapshot(`
      "
      --- words
      ci is revoked.
      [0]
      "
    `)
    expect(await seen('token revoke ci --yes')).toMatchInlineSnapshot(`
      "
      --- words
      There is no token ci. See: sluice token list
      [1]
      "
    `)
    expect(await seen('token create x --role king')).toMatchInlineSnapshot(`
      "
      --- words
      --role is "king"; expected client, reader, operator, admin
      [2]
      "
    `)
    expect(await seen('token create x')).toMatchInlineSnapshot(`
      "
      --- words
      Required option '--role <ROLE>' not specified.
      [2]
      "
    `)
    await ask('token create all --role reader')
    expect((await ask('token revoke all --yes')).words).toContain('There are 2 tokens all')
  })
})

describe('migrate', () => {
  it('makes the tables, once, and says how far they are', async () => {
    const postgres = await PostgresServer.start()
    const environment = { DATABASE_URL: await postgres.createDatabase() }
    expect(await seen('migrate status', { environment })).toMatchInlineSnapshot(`
      "
      1  control  missing
      2  usage    missing
      [6]
      "
    `)
    expect(await seen('migrate up', { environment })).toMatchInlineSnapshot(`
      "
      ran  control
      ran  usage
      [0]
      "
    `)
    expect(await seen('migrate status', { environment })).toMatchInlineSnapshot(`
      "
      1  control  ran N s ago
      2  usage    ran N s ago
      [0]
      "
    `)
    expect(await seen('migrate up', { environment })).toMatchInlineSnapshot(`
      "
      --- words
      Nothing is missing.
      [0]
      "
    `)
    const { out } = await ask('migrate status --json', { environment })
    expect(JSON.parse(out).migrations[1]).toMatchObject({ version: 2, name: 'usage' })
    await postgres.stop()
    const away = await ask('migrate up', { environment })
    expect([away.code, away.words]).toEqual([5, expect.stringContaining('cannot be asked')])
    expect(await seen('migrate up', { environment: {} })).toMatchInlineSnapshot(`
      "
      --- words
      which database? --database URL, or DATABASE_URL
      [2]
      "
    `)
    expect(await seen('migrate up --database mysql://x')).toMatchInlineSnapshot(`
      "
      --- words
      --database cannot be read; expected postgres://user@host/name
      [2]
      "
    `)
  })
})
