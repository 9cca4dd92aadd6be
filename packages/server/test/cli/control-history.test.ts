/** Rules go back to earlier versions, are refused with all faults, and begin namespaces. */
import { describe, expect, it } from 'vitest'
import { controlCommand, RULES } from './control-command.js'

const { folder, ask, seen } = controlCommand(RULES)

describe('rules', () => {
  it('have a history, and go back', async () => {
    folder.write('sluice.yaml', RULES.replace('10/s, tiers', '7/s, tiers'))
    expect((await ask('rules apply --yes')).code).toBe(0)
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
