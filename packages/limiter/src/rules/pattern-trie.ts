/** Finds what was filed under every pattern that matches a resource, most specific first. */
import type { Pattern } from './pattern.js'

class Node<T> {
  /** The mark of whoever may write here: others that share it copy it first. */
  readonly owner: object
  /** Null where no literal follows: most nodes are the last of their pattern. */
  literals: Map<string, Node<T>> | null = null
  param: Node<T> | undefined
  /** Filed under a pattern that ends here, and under one that ends here with `*`. */
  here: T | undefined
  rest: T | undefined

  constructor(owner: object) {
    this.owner = owner
  }

  copyFor(owner: object): Node<T> {
    const copy = new Node<T>(owner)
    copy.literals = this.literals === null ? null : new Map(this.literals)
    copy.param = this.param
    copy.here = this.here
    copy.rest = this.rest
    return copy
  }
}

export class PatternTrie<T> {
  /** Not the trie itself: what is shared would keep all those before it alive. */
  readonly #mark = {}
  readonly #root: Node<T>

  /** Begins as another one is, and shares with it what stays the same. */
  constructor(before?: PatternTrie<T>) {
    this.#root = before === undefined ? new Node(this.#mark) : before.#root.copyFor(this.#mark)
  }

  getOrAdd(pattern: Pattern, make: () => T): T {
    const { node, isRest } = this.#place(pattern)
    if (isRest) {
      node.rest ??= make()
      return node.rest
    }
    node.here ??= make()
    return node.here
  }

  /** What is filed under just this pattern. */
  get(pattern: Pattern): T | undefined {
    let node: Node<T> | undefined = this.#root
    for (const segment of pattern) {
      if (segment === 'rest') return node.rest
      node = segment === 'param' ? node.param : node.literals?.get(segment.literal)
      if (node === undefined) return undefined
    }
    return node.here
  }

  /** Files this under the pattern, in the place of what was; undefined: nothing. */
  set(pattern: Pattern, filed: T | undefined): void {
    const { node, isRest } = this.#place(pattern)
    if (isRest) node.rest = filed
    else node.here = filed
  }

  /** Where the pattern is filed: every node on the way is this one's own afterwards. */
  #place(pattern: Pattern): { node: Node<T>; isRest: boolean } {
    let node = this.#root
    for (const segment of pattern) {
      if (segment === 'rest') return { node, isRest: true }
      if (segment === 'param') {
        node.param = this.#own(node.param)
        node = node.param
      } else {
        node.literals ??= new Map()
        const known = node.literals.get(segment.literal)
        const next = this.#own(known)
        if (next !== known) node.literals.set(segment.literal, next)
        node = next
      }
    }
    return { node, isRest: false }
  }

  #own(node: Node<T> | undefined): Node<T> {
    if (node === undefined) return new Node(this.#mark)
    return node.owner === this.#mark ? node : node.copyFor(this.#mark)
  }

  /** Costs the length of the resource and the number of patterns that match it. */
  match(resource: string): T[] {
    const found: T[] = []
    this.#visit(this.#root, resource, 0, found)
    return found
  }

  #visit(node: Node<T>, resource: string, from: number, found: T[]): void {
    if (from > resource.length) {
      if (node.here !== undefined) found.push(node.here)
      return
    }
    const slash = resource.indexOf('/', from)
    const end = slash < 0 ? resource.length : slash
    const literal = node.literals?.get(resource.slice(from, end))
    if (literal !== undefined) this.#visit(literal, resource, end + 1, found)
    if (node.param !== undefined && end > from) this.#visit(node.param, resource, end + 1, found)
    if (node.rest !== undefined) found.push(node.rest)
  }
}
