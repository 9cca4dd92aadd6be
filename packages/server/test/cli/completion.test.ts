import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { run } from './command.js'

/** What bash offers for these words, the last one being written. */
async function complete(...words: string[]): Promise<string[]> {
  const { out } = await run('completion bash')
  const script = `${out}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', 'sluice', ...words], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('completion', () => {
  it('completes commands, their own commands, and options', async () => {
    expect(await complete('ru')).toEqual(['rules'])
    expect(await complete('e')).toEqual(['explain'])
    expect(await complete('rules', '')).toEqual(expect.arrayContaining(['validate', 'fmt']))
    expect(await complete('rules', '')).not.toContain('serve')
    expect(await complete('rules', 'fmt', '--ch')).toEqual(['--check'])
    expect(await complete('serve', '--redis-')).toEqual(['--redis-prefix', '--redis-deadline'])
    expect(await complete('completion', 'f')).toEqual(['fish'])
    expect(await complete('check', 'user:1', '--json', '--co')).toEqual(['--cost', '--costs'])
    expect(await complete('check', '--na')).toEqual(['--namespace'])
  })

  it('has a script for each shell that names every command', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out, code } = await run(`completion ${shell}`)
      expect(code).toBe(0)
      for (const word of [
        'init',
        'serve',
        'check',
        'explain',
        'validate',
        'fmt',
        'doctor',
        'bench',
        'plan',
        'rollback',
        'subject',
        'override',
        'violations',
        'token',
        'revoke',
        'migrate',
      ])
        expect(out).toMatch(new RegExp(`\\b${word}\\b`))
    }
    expect((await run('completion fish')).out).toContain(
      `complete -c sluice -f -n '__fish_seen_subcommand_from rules; and not __fish_seen_subcommand_from validate fmt plan diff apply export list history rollback' -a fmt -d 'write rules files in their canonical form'`,
    )
    expect((await run('completion zsh')).out).toMatch(/^#compdef sluice\n/)
  })
})
