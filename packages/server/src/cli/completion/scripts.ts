/** Completion scripts from the tree of commands: what may follow is a table, and the shell looks it up. */
import { type CommandNode, nodesOf } from './command-tree.js'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function completionScript(shell: Shell, tree: CommandNode): string {
  return { bash, zsh, fish }[shell](tree)
}

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
