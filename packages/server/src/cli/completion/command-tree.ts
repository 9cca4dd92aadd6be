/** The commands as plain data, for completion scripts and the reference. */
import type { Command } from 'commander'

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

export interface CommandOption {
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
