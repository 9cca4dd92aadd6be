/** What holds for a subject, and who was denied. */
import { describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { SluiceProcess } from '../process.js'
import { runWords, shown } from './command.js'
import { controlCommand, RULES, steady } from './control-command.js'

const { ask, seen, server } = controlCommand(RULES)

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
      { environment: { SLUICE_SERVER: `localhost:${server().port}` } },
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
    await server().store()
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
      `localhost:${server().port}`,
    ]
    const following = new SluiceProcess(args)
    const counted = () =>
      following.out
        .split('\n')
        .filter((line) => line !== '')
        .reduce((sum, line) => sum + JSON.parse(line).count, 0)
    for (let denied = 1; denied <= 3; denied++) {
      await ask('check user:ann /once')
      await server().store()
      await until(`${denied} to be shown: ${following.words}`, () => counted() === denied)
    }
    await following.stop('SIGTERM')
    expect(counted()).toBe(3)
  })
})
