/** Finds what was filed under every pattern that matches a resource, most specific first. */
import type { Pattern } from './pattern.js'

class Node<T> {
  /** Null where no literal follows: most nodes are the last of their pattern. */
  literals: Map<string, Node<T>> | null = null
  param: Node<T> | undefined
  /** Filed under a pattern that ends here, and under one that ends here with `*`. */
  here: T | undefined
  rest: T | undefined
}

export class PatternTrie<T> {
  readonly #root = new Node<T>()

  getOrAdd(pattern: Pattern, make: () => T): T {
    let node = this.#root
    for (const segment of pattern) {
      if (segment === 'rest') {
        node.rest ??= make()
        return node.rest
      }
      if (segment === 'param') {
        node.param ??= new Node()
        node = node.param
      } else {
        node.literals ??= new Map()
        let next = node.literals.get(segment.literal)
        if (next === undefined) {
          next = new Node()
          node.literals.set(segment.literal, next)
        }
        node = next
      }
    }
    node.here ??= make()
    return node.here
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
