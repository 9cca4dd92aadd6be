/** Rules are planned, applied, listed and exported. */
import { describe, expect, it } from 'vitest'
import { readRules } from '../../src/rules-file/read-rules.js'
import { controlCommand, RULES } from './control-command.js'

const { folder, ask, seen, server } = controlCommand()

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
        --scope <SCOPE>        only rules of this scope
        --resource <RESOURCE>  only rules of this resource, spelled as in the rule
        --label <LABEL>        only rules with this label: team:search, or team with
                               any value
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
        --no-input             never ask for confirmation
        --yes                  do it without confirmation
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
      @@ -11,17 +11,21 @@
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
      no terminal to confirm on: pass --yes
      [2]
      "
    `)
    expect(await seen('rules apply --no-input')).toMatchInlineSnapshot(`
      "
      ~ per-user  10/s -> 7/s  use carries over
      --- words
      no terminal to confirm on: pass --yes
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
      const { text } = await server().control.documents.read('default')
      const caller = { name: 'other', id: 'other', role: 'admin' as const, namespaces: null }
      const other = { ...JSON.parse(text), scopes: ['team'] }
      await server().control.documents.apply(caller, 'default', other, { ifMatch: 'any' })
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
})
