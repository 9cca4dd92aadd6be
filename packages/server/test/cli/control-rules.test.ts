import { describe, expect, it } from 'vitest'
import { readRules } from '../../src/rules-file/read-rules.js'
import { askingControl, RULES } from './asking-control.js'
import { inOwnFolder } from './command.js'

const control = askingControl()
const { ask, seen } = control
const folder = inOwnFolder()

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
      const { text } = await control.server.control.documents.read('default')
      const caller = { name: 'other', id: 'other', role: 'admin' as const, namespaces: null }
      const other = { ...JSON.parse(text), scopes: ['team'] }
      await control.server.control.documents.apply(caller, 'default', other, { ifMatch: 'any' })
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
