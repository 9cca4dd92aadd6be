/**
 * A YAML document as plain values, with what YAML allows and a rules file does not: names written twice,
 * merge keys, tags, and aliases that stand for more than a file should hold.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair } from 'yaml'
import type { SpanFault } from './placed-fault.js'
import { bareStar } from './yaml-faults.js'

const DEEPEST = 64
/** Aliases stand for at most this many values, or this many times what is written. */
const MOST_ALIASED = 10_000
const MOST_TIMES = 10
const TAGS = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
)

interface Known {
  readonly value: unknown
  /** How many values it is made of. */
  readonly size: number
}

export class YamlValue {
  readonly faults: SpanFault[] = []
  readonly value: unknown
  readonly #anchors = new Map<string, Known | null>()
  #size = 0
  #aliased = 0
  readonly #mostAliased: number

  constructor(document: Document, length: number) {
    this.#mostAliased = Math.max(MOST_ALIASED, (MOST_TIMES * length) / 10)
    this.value = this.#read(document.contents, 0)
  }

  #refuse(node: Node, words: Pick<SpanFault, 'message' | 'expected' | 'hint'>): undefined {
    const [start, end] = spanOf(node)
    this.faults.push({ path: '', start, end, ...words })
  }

  #read(node: Node | null, depth: number): unknown {
    this.#size++
    if (node === null) return null
    if (isAlias(node)) return this.#readAlias(node)
    if (depth > DEEPEST) return this.#refuse(node, { message: 'nested too deeply' })
    const before = this.#size
    const { anchor } = node as { anchor?: string }
    // Null while it is being read: an alias inside would stand for itself.
    if (anchor !== undefined) this.#anchors.set(anchor, null)
    this.#refuseTag(node)
    const value = this.#readContents(node, depth)
    if (anchor !== undefined) this.#anchors.set(anchor, { value, size: this.#size - before })
    return value
  }

  #readContents(node: Node, depth: number): unknown {
    if (isScalar(node)) return node.value
    if (isSeq(node)) return node.items.map((item) => this.#read(item as Node | null, depth + 1))
    if (!isMap(node)) return null
    const fields = Object.create(null) as Record<string, unknown>
    for (const pair of node.items) {
      const name = this.#readName(pair as Pair<Node | null, Node | null>)
      const value = this.#read(pair.value as Node | null, depth + 1)
      if (name === undefined) continue
      if (Object.hasOwn(fields, name))
        this.#refuse(pair.key as Node, { message: `${JSON.stringify(name)} is written twice` })
      fields[name] = value
    }
    return fields
  }

  #readName({ key, value }: Pair<Node | null, Node | null>): string | undefined {
    if (isScalar(key)) {
      const name = nameOf(key)
      if (name === '<<' && key.type === 'PLAIN')
        return this.#refuse(key, { message: 'merge keys (<<) are not part of a rules file' })
      this.#refuseTag(key)
      return name
    }
    const node = key ?? value
    if (node === null) return undefined
    if (isAlias(node) && node === key) return this.#refuse(node, bareStarAt(node))
    return this.#refuse(node, { message: 'a name that is not a text' })
  }

  #readAlias(node: Node & { source: string }): unknown {
    const known = this.#anchors.get(node.source)
    if (known === undefined) return this.#refuse(node, bareStarAt(node))
    if (known === null) return this.#refuse(node, { message: 'an alias that stands for itself' })
    this.#aliased += known.size
    if (this.#aliased <= this.#mostAliased) {
      this.#size += known.size
      return known.value
    }
    if (this.#aliased - known.size <= this.#mostAliased)
      this.#refuse(node, { message: 'aliases that stand for more than a rules file may hold' })
    return undefined
  }

  #refuseTag(node: Node): void {
    const { tag } = node
    if (tag === undefined || tag === '!' || TAGS.has(tag)) return
    const name = tag.replace('tag:yaml.org,2002:', '!!')
    this.#refuse(node, { message: `a tag ${JSON.stringify(name)}; a rules file has none` })
  }
}

/** As it was written, so that 007 stays 007. */
export function nameOf(key: unknown): string {
  if (!isScalar(key)) return ''
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
}

export function spanOf(node: Node): [start: number, end: number] {
  return node.range === undefined || node.range === null ? [0, 0] : [node.range[0], node.range[1]]
}

function bareStarAt(node: Node): Pick<SpanFault, 'message' | 'hint'> {
  const { message, hint } = bareStar(spanOf(node)[0])
  return hint === undefined ? { message } : { message, hint }
}
