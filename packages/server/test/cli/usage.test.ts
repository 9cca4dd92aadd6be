import { ERROR_CODES } from '@sluice/contract'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../src/cli/program.js'
import { terminalOf } from '../../src/cli/terminal.js'
import { SETTINGS } from '../../src/config.js'
import { inOwnFolder, run, runWords, shown } from './command.js'

const folder = inOwnFolder()

describe('the command', () => {
  it('says what there is', async () => {
    expect(shown(await run('--help'))).toMatchInlineSnapshot(`
      "
      Usage: sluice [options] [command]

      Decides, for every request an API receives, whether it may pass now.

      Options:
        -V, --version               the version
        --server <URL>              the server to ask (http://localhost:4290)
                                    [SLUICE_SERVER]
        --token <TEXT>              what to show it; the variable is seen by fewer
                                    [SLUICE_TOKEN]
        --namespace <NAME>          whose rules are meant
        --json                      one JSON document instead of words and tables
        --no-color                  no colour, as NO_COLOR does
        --no-input                  never ask for confirmation
        --yes                       do it without confirmation
        -h, --help                  this text

      Commands:
        init                        write a sluice.yaml to begin with
        serve                       start the server
        sidecar                     start the server beside a gateway
        check <scope:value...>      ask whether a request may pass, and count it
        explain <scope:value...>    say which rules apply to a request, and why
        rules <command>             check rules files, and move them to and from a
                                    server
        subject <command>           see and change what holds for one subject
        violations                  say who was denied when, and by what
        token create|list|revoke    give out, list and revoke tokens
        migrate up|status           make and look at a database's tables
        doctor                      find out what is wrong
        bench                       put a load on a server and measure it
        completion <bash|zsh|fish>  print a completion script for a shell
        help [command|code...]      what a command or an error code means

      Exit codes: 0 yes, 1 failed, 2 usage, 3 invalid rules, 4 not authorised, 5 out of reach, 6 no.
      New here: sluice init, then sluice serve --dev
      [0]
      "
    `)
    expect((await run('')).code).toBe(2)
    expect(shown(await run('--version'))).toMatchInlineSnapshot(`
      "
      0.1.0
      [0]
      "
    `)
  })

  it('says what was probably meant', async () => {
    const said: string[] = []
    for (const line of [
      'chek user:1',
      'rules valdate',
      'rules',
      'serve --prot 4300',
      'check user:1 --jsn',
      'doctor --redsi x',
      'init extra',
      'completion zhs',
      'help limted',
      'help xyzzy',
      'check user:1 --cost',
    ]) {
      const ran = await run(line)
      expect([line, ran.code, ran.out]).toEqual([line, 2, ''])
      if (line !== 'rules') said.push(`$ ${line}\n${ran.words}`)
    }
    expect(`\n${said.join('')}`).toMatchInlineSnapshot(`
      "
      $ chek user:1
      Unknown command 'chek'. Did you mean check?
      $ rules valdate
      Unknown command 'valdate'. Did you mean validate?
      $ serve --prot 4300
      Unknown option '--prot'. Did you mean --port?
      $ check user:1 --jsn
      Unknown option '--jsn'. Did you mean --json?
      $ doctor --redsi x
      Unknown option '--redsi'. Did you mean --redis?
      $ init extra
      Too many arguments for 'init'. Expected 0 arguments but got 1.
      $ completion zhs
      No script for "zhs"; expected bash, zsh or fish. Did you mean zsh?
      $ help limted
      No command or error code is called "limted". Did you mean limited?
      Error codes: bad_request, invalid_rules, invalid_options, idempotency_conflict, idempotency_in_progress, not_supported, invalid_snapshot, closed, limited, too_expensive, blocked, store_down, unauthorized, forbidden, not_found, not_a_control_plane, unknown_namespace, unknown_receipt, lost, timed_out, method_not_allowed, outcome_unknown, conflict, older_instances, rules_from_file, stale_version, version_missing, unsupported_media_type, payload_too_large, headers_too_large, internal, busy, disk_unwritable, database_unavailable, store_unavailable
      $ help xyzzy
      No command or error code is called "xyzzy".
      Error codes: bad_request, invalid_rules, invalid_options, idempotency_conflict, idempotency_in_progress, not_supported, invalid_snapshot, closed, limited, too_expensive, blocked, store_down, unauthorized, forbidden, not_found, not_a_control_plane, unknown_namespace, unknown_receipt, lost, timed_out, method_not_allowed, outcome_unknown, conflict, older_instances, rules_from_file, stale_version, version_missing, unsupported_media_type, payload_too_large, headers_too_large, internal, busy, disk_unwritable, database_unavailable, store_unavailable
      $ check user:1 --cost
      Option '--cost <N>' argument missing.
      "
    `)
  })

  it('shows nothing raw that it was given', async () => {
    for (const words of [
      ['\u001b[2J'],
      ['check', 'user:1', '--\u001b[2J'],
      ['help', '\u001b[2J'],
      ['check', '\u001b[2J'],
      ['completion', '\u009b2J'],
      ['serve', '--port', '\u001b[2J'],
    ]) {
      const ran = await runWords(words)
      expect(ran.code).toBe(2)
      // oxlint-disable-next-line no-control-regex -- they are what must not be there
      expect(ran.words).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    }
  })
})

describe('help', () => {
  it('says what an error code means, its status, and what to do', async () => {
    expect(shown(await run('help limited'))).toMatchInlineSnapshot(`
      "
      limited  HTTP 429
        A limit does not allow the request now. Nothing was taken from any limit.
        do: Send it again after \`retry_after\` seconds. \`sluice explain\` says which rule decides and why.
      [0]
      "
    `)
    expect(shown(await run('help closed'))).toMatchInlineSnapshot(`
      "
      closed  thrown by the library
        The limiter was closed.
        do: Make a new limiter, or close it after its last request.
      [0]
      "
    `)
    expect(JSON.parse((await run('help store_down --json')).out)).toEqual({
      code: 'store_down',
      ...ERROR_CODES.store_down,
    })
    for (const code of Object.keys(ERROR_CODES)) expect((await run(`help ${code}`)).code).toBe(0)
  })

  it('has colour only where somebody looks at that stream', async () => {
    const seen = await run('help limited', { color: true })
    const piped = await run('help limited', { color: true, outIsTerminal: false })
    expect([seen.out.includes('\u001b[1m'), piped.out.includes('\u001b')]).toEqual([true, false])
  })

  it('says what a command takes, as --help does', async () => {
    for (const name of ['serve', 'rules', 'rules fmt', 'check', 'help']) {
      const [help, flag] = [await run(`help ${name}`), await run(`${name} --help`)]
      expect(help).toEqual(flag)
      expect(help.out).toContain(`Usage: sluice ${name}`)
    }
  })
})

describe('serve', () => {
  it('has every setting in its help, but no secret', async () => {
    const { out } = await run('serve --help')
    for (const [name, setting] of Object.entries(SETTINGS)) {
      const isSecret = 'isSecret' in setting && setting.isSecret
      expect([name, new RegExp(`^  --${name}\\b`, 'm').test(out)]).toEqual([name, !isSecret])
    }
  })

  it('refuses options that it would ignore', async () => {
    for (const [line, words] of [
      ['serve --token abc', 'SLUICE_TOKEN'],
      ['serve --server x', '--server says nothing to serve'],
      ['--namespace x serve', '--namespace says nothing to serve'],
      ['serve --json', '--json says nothing to serve'],
    ] as const) {
      const ran = await run(line)
      expect([line, ran.code]).toEqual([line, 2])
      expect(ran.words).toContain(words)
      expect(ran.words).not.toContain('abc')
    }
  })

  it('reads its configuration file', async () => {
    folder.write('sluice.config.yaml', 'prot: 1\n')
    expect(await run('serve')).toEqual({
      code: 2,
      out: '',
      words: 'sluice.config.yaml: unknown setting "prot"; did you mean "port"?\n',
    })
  })
})

describe('every command', () => {
  it('has a summary, a description, and help that names its options', () => {
    const terminal = terminalOf({
      stdin: (async function* () {})(),
      stdout: { write: () => true },
      stderr: { write: () => true },
      env: {},
    })
    const program = programOf(terminal, () => undefined)
    for (const command of program.commands) {
      expect(command.summary(), command.name()).not.toBe('')
      expect(command.description(), command.name()).toMatch(/^[A-Z].*[.)]$|bash\)$/)
    }
  })
})
