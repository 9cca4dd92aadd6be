import { describe, expect, it } from 'vitest'
import { inOwnFolder, run, runWords, shown } from './command.js'

const folder = inOwnFolder()
const nowhere = { environment: { SLUICE_SERVER: 'http://localhost:1' } }

describe('a rules file alone', () => {
  it('decides as a server would whose counters are unused', async () => {
    await run('init')
    const said: string[] = []
    for (const line of [
      'check user:ada /hello --rules sluice.yaml',
      'check user:ada /hello --cost 4 --rules sluice.yaml',
      'explain user:grace ip:203.0.113.42 GET /v1/search --rules sluice.yaml',
      'explain ip:203.0.113.42 POST /login --rules sluice.yaml',
    ])
      said.push(`$ ${line}${shown(await run(line, nowhere))}`)
    expect(said.join('')).toMatchInlineSnapshot(`
      "$ check user:ada /hello --rules sluice.yaml
      allowed  hello  2 of 3 left
      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      [0]
      $ check user:ada /hello --cost 4 --rules sluice.yaml
      denied  hello  never: costs more than the 3 it can hold
      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      [6]
      $ explain user:grace ip:203.0.113.42 GET /v1/search --rules sluice.yaml
      ALLOWED by search, 100 of 100 left; nothing counted
        user    search        100 per 5m sliding       100 left   /v1/search of search beats *
        user    per-user@pro  50/s, 20000/h            -          set aside by search
        user    per-user      10/s, 1000/h burst 2000  -          set aside by search
        ip      default       20/s                     -          applies only where no rule but a global one does
        global  everything    5000/s                   5000 left  the only rule of scope global
      tier pro, cost 2, revision 1
      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      [0]
      $ explain ip:203.0.113.42 POST /login --rules sluice.yaml
      ALLOWED by login, 5 of 5 left; nothing counted
        ip      login       5 per 15m exact, 50/d  5, 50 left  the only rule of scope ip
        ip      default     20/s                   -           applies only where no rule but a global one does
        global  everything  5000/s                 5000 left   the only rule of scope global
        user    -           -                      -           the request names no user
      no tier, cost 1, revision 1
      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      [0]
      "
    `)
  })

  it('gives the same document, without a receipt that nobody would honour', async () => {
    await run('init')
    const check = await run('check user:ada /hello --rules sluice.yaml --json', nowhere)
    expect(JSON.parse(check.out)).toMatchObject({ allowed: true, remaining: 2, receipt: null })
    const explain = await run('explain user:ada /hello --rules sluice.yaml --json', nowhere)
    expect(JSON.parse(explain.out)).toMatchObject({ applied: [{ rule: 'hello' }, {}] })
  })

  it('that is faulty, missing or asked wrongly says so', async () => {
    folder.write('bad.yaml', 'rules:\n  a: { scope: user, limits: 10/mon }\n')
    await run('init')
    const said: string[] = []
    for (const words of [
      ['check', 'user:1', '--rules', 'bad.yaml'],
      ['check', 'user:1', '--rules', 'none.yaml'],
      ['check', 'planet:1', '--rules', 'sluice.yaml'],
      ['check', 'user:1', '--cost', '0', '--rules', 'sluice.yaml'],
      ['check', 'user:1', '--rules', 'a\u001b[2Jb.yaml'],
    ])
      said.push(shown(await runWords(words, nowhere)))
    expect(said.join('')).toMatchInlineSnapshot(`
      "
      --- words
      bad.yaml:2:32: unknown unit "mon"
          2 |   a: { scope: user, limits: 10/mon }
            |                                ^^^ expected s, min, h, d or w
            = a month has no fixed length: "10 per calendar month" or "10 per 30d"
      1 fault.
      [3]

      --- words
      There is no none.yaml here.
      [1]

      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      subject.planet is not a scope of the rules; expected user, api_key, ip or org (bad_request; see: sluice help bad_request)
      [2]

      --- words
      By sluice.yaml alone: no server was asked, nothing is used yet.
      cost is 0; expected a whole number from 1 to 100000 (bad_request; see: sluice help bad_request)
      [2]

      --- words
      There is no a\\u001b[2Jb.yaml here.
      [1]
      "
    `)
  })
})
