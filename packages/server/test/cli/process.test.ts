/** The bundled command as a person runs it: streams, exit codes, and how it ends. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SluiceProcess } from '../process.js'
import { runProcess } from './command.js'

const COMMAND = fileURLToPath(new URL('../../bin/sluice.cjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))

let server: SluiceProcess
beforeAll(async () => {
  await runProcess(['init'], { folder })
  // Each command starts a process, which may take seconds on a busy machine.
  const file = join(folder, 'sluice.yaml')
  const written = readFileSync(file, 'utf8')
  const patient = written.replace('3 per 10s', '3 per 1000s')
  expect(patient).not.toBe(written)
  writeFileSync(file, patient)
  server = new SluiceProcess(['serve', '--port', '0', '--drain-delay', '0'], { folder })
  while (!server.words.includes('access')) await new Promise((resolve) => setTimeout(resolve, 20))
})
afterAll(() => server.stop())

const ask = (...args: string[]) =>
  runProcess(args, { folder, environment: { SLUICE_SERVER: `http://localhost:${server.port}` } })

describe('the bundled command', () => {
  it('serves what init wrote, and is asked from the command line', async () => {
    const answers = []
    for (let i = 0; i < 4; i++) answers.push(await ask('check', 'user:ada', '/hello'))
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0, 6])
    expect(answers[0]).toEqual({ code: 0, out: 'allowed\thello\t2 of 3 left\n', words: '' })
    expect(answers[3]!.out).toMatch(/^denied\thello\tnext in [\d.]+ \S+\n$/)
    const explained = await ask('explain', 'user:ada', '/hello')
    expect([explained.code, explained.words]).toEqual([6, ''])
    expect(explained.out).toMatch(/^DENIED by hello, next in [\d.]+ \S+; nothing counted\n/)
  })

  it('validates files, small and large', async () => {
    expect(await ask('rules', 'validate')).toEqual({
      code: 0,
      out: 'ok\tsluice.yaml\t5 rules\n',
      words: '',
    })
    const rules = Array.from(
      { length: 3000 },
      (_, i) => `  r${i}: { scope: s${i % 20}, resource: /r${i}, limits: 10/s }\n`,
    )
    const { status, stdout } = spawnSync(process.execPath, [COMMAND, 'rules', 'validate', '-'], {
      input: `rules:\n${rules.join('')}`,
      encoding: 'utf8',
    })
    expect([status, stdout]).toEqual([0, 'ok\t<stdin>\t3000 rules\n'])
  })

  it('has no colour in a pipe, none under NO_COLOR, and some where it is forced', async () => {
    const plain = await ask('help', 'limited')
    const forced = await runProcess(['help', 'limited'], { environment: { FORCE_COLOR: '1' } })
    const none = await runProcess(['help', 'limited', '--no-color'], {
      environment: { FORCE_COLOR: '1' },
    })
    const variable = await runProcess(['help', 'limited'], {
      environment: { FORCE_COLOR: '1', NO_COLOR: '1' },
    })
    expect(forced.out).toContain('\u001b[1mlimited\u001b[22m')
    expect([plain.out, none.out, variable.out].join('')).not.toContain('\u001b')
  })

  it('ends with the codes that it promises, and never with a stack', async () => {
    const runs = [
      await ask('check', 'user:1'),
      await ask('init'),
      await ask('chek'),
      await ask('rules', 'validate', 'package-that-is-not-there'),
      await runProcess(['check', 'user:1', '--server', 'localhost:1']),
      await ask('doctor', '--redis', 'redis://127.0.0.1:1'),
    ]
    expect(runs.map(({ code }) => code)).toEqual([0, 1, 2, 1, 5, 6])
    for (const { words } of runs) expect(words).not.toMatch(/^\s+at /m)
  })

  it('ends quietly when nobody reads on', () => {
    const pipe = `"${process.execPath}" "${COMMAND}" completion bash | head -n 1; exit \${PIPESTATUS[0]}`
    const { stdout, stderr, status } = spawnSync('bash', ['-c', pipe], { encoding: 'utf8' })
    expect([stdout, stderr, status]).toEqual([
      '# sluice completion for bash. Load it: source <(sluice completion bash)\n',
      '',
      0,
    ])
  })
})
