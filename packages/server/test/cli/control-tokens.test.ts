/** Tokens, and the tables of a database. */
import { describe, expect, it } from 'vitest'
import { PostgresServer } from '../control/databases.js'
import { shown } from './command.js'
import { controlCommand, steady } from './control-command.js'

const { ask, seen } = controlCommand()

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
