/**
 * `sluice completion`: a script for a shell, made from the tree of commands as it is. What may follow is a
 * table, and the shell looks it up.
 */
import { list, nearest, quote } from '@sluice/limiter/transport'
import type { Command } from 'commander'
import { UsageError } from '../../config.js'
import { command } from '../command.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completion = command('completion', {
  summary: 'print a completion script for a shell',
  description: 'Prints a script that completes sluice. Load it: source <(sluice completion bash)',
  arguments: [['<bash|zsh|fish>', 'the shell']],
  run: ({ args: [word], terminal, command: { parent } }) => {
    const shell = SHELLS.find((known) => known === word)
    if (shell === undefined) {
      const near = nearest(word, SHELLS)
      const guess = near === undefined ? '' : ` Did you mean ${near}?`
      throw new UsageError(`No script for ${quote(word)}; expected ${list(SHELLS)}.${guess}`)
    }
    terminal.out({ bash, zsh, fish }[shell](treeOf(parent!)))
  },
})

const GLOBALS_OF = (tree: CommandNode) => [...tree.options.map(({ long }) => long), '--help']

/** What may stand behind a command: its own commands, or its fixed words. */
function wordsOf(node: CommandNode): string[] {
  return node.name === 'completion' ? [...SHELLS] : node.commands.map(({ name }) => name)
}

function cases(tree: CommandNode, line: (node: CommandNode, words: string[]) => string): string {
  return [...nodesOf(tree)]
    .map((node) => {
      const own = node === tree ? [] : node.options.map(({ long }) => long)
      return line(node, [...wordsOf(node), ...own])
    })
    .join('\n')
}

/** The command that the words so far name. */
const WALK = (tree: CommandNode) =>
  [...nodesOf(tree)]
    .filter((node) => node !== tree)
    .map((node) => `      '${node.path}') at='${node.path}' ;;`)
    .join('\n')

function bash(tree: CommandNode): string {
  return `# sluice completion for bash. Load it: source <(sluice completion bash)
_sluice() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at='sluice' word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
${WALK(tree)}
    esac
  done
  case "$at" in
${cases(tree, (node, words) => `    '${node.path}') words='${words.join(' ')}' ;;`)}
  esac
  COMPREPLY=($(compgen -W "$words ${GLOBALS_OF(tree).join(' ')}" -- "$cur"))
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -F _sluice sluice
`
}

function zsh(tree: CommandNode): string {
  return `#compdef sluice
# sluice completion for zsh. Load it: source <(sluice completion zsh)
_sluice() {
  local at='sluice' word
  local -a words_here
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
${WALK(tree)}
    esac
  done
  case "$at" in
${cases(tree, (node, words) => `    '${node.path}') words_here=(${words.join(' ')}) ;;`)}
  esac
  compadd -- $words_here ${GLOBALS_OF(tree).join(' ')} || _files
}
# Run at once where it was autoloaded from fpath; made known where it was sourced.
if [[ "\${funcstack[1]}" == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
`
}

function fish(tree: CommandNode): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = ['# sluice completion for fish. Load it: sluice completion fish | source']
  const option = (when: string, long: string, takesValue: boolean, description: string) =>
    `complete -c sluice${when} -l ${long.slice(2)}${takesValue ? ' -r' : ''} -d ${quoted(description)}`
  for (const { long, takesValue, description } of tree.options)
    lines.push(option('', long, takesValue, description))
  for (const node of nodesOf(tree)) {
    const seen = node.path.split(' ').slice(1)
    const children = node.commands.map(({ name }) => name)
    const here = seen.map((word) => `__fish_seen_subcommand_from ${word}`)
    const notYet =
      children.length === 0 ? [] : [`not __fish_seen_subcommand_from ${children.join(' ')}`]
    const when = (conditions: string[]) =>
      conditions.length === 0 ? '' : ` -n ${quoted(conditions.join('; and '))}`
    for (const { name, summary } of node.commands)
      lines.push(
        `complete -c sluice -f${when([...here, ...notYet])} -a ${name} -d ${quoted(summary)}`,
      )
    if (node.name === 'completion')
      lines.push(`complete -c sluice -f${when(here)} -a ${quoted(SHELLS.join(' '))}`)
    if (node === tree) continue
    for (const { long, takesValue, description } of node.options)
      lines.push(option(when(here), long, takesValue, description))
  }
  return `${lines.join('\n')}\n`
}

/** The commands as plain data; the reference is made of it too. */
export interface CommandNode {
  /** `sluice rules fmt` */
  readonly path: string
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly usage: string
  readonly arguments: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly CommandOption[]
  readonly commands: readonly CommandNode[]
}

interface CommandOption {
  readonly flags: string
  readonly long: string
  readonly description: string
  readonly group: string
  readonly takesValue: boolean
}

export function treeOf(command: Command, parent = ''): CommandNode {
  const path = `${parent}${parent === '' ? '' : ' '}${command.name()}`
  return {
    path,
    name: command.name(),
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.variadic ? `${argument.name()}...` : argument.name(),
      description: argument.description,
    })),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map((option) => ({
        flags: option.flags,
        long: option.long ?? option.flags,
        description:
          option.defaultValue === undefined || typeof option.defaultValue === 'boolean'
            ? option.description
            : `${option.description} (${String(option.defaultValue)})`,
        group: option.helpGroupHeading ?? '',
        takesValue: option.required || option.optional,
      })),
    commands: command.commands.map((one) => treeOf(one, path)),
  }
}

/** Depth first, the command itself before its own. */
export function* nodesOf(node: CommandNode): IterableIterator<CommandNode> {
  yield node
  for (const child of node.commands) yield* nodesOf(child)
}
