/**
 * Where in a YAML text a fault of the document is: its path, followed through names and lists to the name
 * or the value that is meant, and within a text to the part that is wrong.
 */
import type { Fault } from '@sluice/limiter'
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  visit,
} from 'yaml'
import type { SpanFault } from './placed-fault.js'
import { nameOf, spanOf } from './yaml-value.js'

/** What a path leads to, or as far as it leads. */
interface Found {
  readonly node: Node | null
  /** The name that it stands under; null in a list. */
  readonly key: Node | null
  /** The last step that was found, and what of the path was not. */
  readonly name: string
  readonly rest: string
}

/** Such a message says something of what the path names, without naming it. */
const PREDICATE = /^(is|has|holds|does|shares|governs|costs) /

export class FaultPlaces {
  readonly #text: string
  readonly #document: Document
  readonly #names = new Map<Node, Map<string, Pair>>()
  #anchors: Map<string, Node> | undefined

  constructor(text: string, document: Document) {
    this.#text = text
    this.#document = document
  }

  place(fault: Fault): SpanFault {
    const { key: field, message, expected, hint } = fault
    const path = field === undefined ? fault.path : `${fault.path}${fault.path && '.'}${field}`
    const found = this.#find({ node: this.#root, key: null, name: '', rest: path })
    const subject = found.rest === '' ? found.name : found.rest.replace(/^\./, '')
    const advice = hint ?? (isUnquoted(message, found) ? 'put it in quotes' : undefined)
    return {
      path: fault.path,
      ...(expected === undefined ? {} : { expected }),
      ...(advice === undefined ? {} : { hint: advice }),
      message: PREDICATE.test(message) && subject !== '' ? `${subject} ${message}` : message,
      ...this.#span(found, fault),
    }
  }

  get #root(): Node | null {
    return this.#document.contents
  }

  #span({ node, key, rest }: Found, fault: Fault): { start: number; end: number } {
    if (node === null && key === null) return { start: 0, end: 0 }
    const isNamed = fault.key !== undefined || rest !== '' || node === null || !isScalar(node)
    if (isNamed && key !== null) return toLineEnd(this.#text, spanOf(key))
    if (node === null) return { start: 0, end: 0 }
    if (fault.offset === undefined || !isScalar(node)) return toLineEnd(this.#text, spanOf(node))
    return partOf(this.#text, node, fault.offset, fault.length ?? 0)
  }

  /** As far as the path leads; names may hold dots and brackets, so the longest that fits comes first. */
  #find(from: Found): Found {
    const { rest } = from
    const node = isAlias(from.node) ? this.#meantBy(from.node) : from.node
    if (rest === '' || node === null) return from
    if (isSeq(node)) {
      const index = /^\[(\d+)\]/.exec(rest)
      if (index === null) return from
      const item = (node.items[Number(index[1])] ?? null) as Node | null
      const name = `${from.name}${index[0]}`
      return this.#find({ node: item, key: null, name, rest: rest.slice(index[0].length) })
    }
    if (!isMap(node)) return from
    let best = from
    const path = rest.replace(/^\./, '')
    for (const [name, remaining] of steps(path)) {
      const pair = this.#namesOf(node).get(name)
      if (pair === undefined) continue
      const [key, value] = [pair.key as Node, pair.value as Node | null]
      const found = this.#find({ node: value, key, name, rest: remaining })
      if (found.rest === '') return found
      if (found.rest.length < best.rest.length) best = found
    }
    return best
  }

  #meantBy(alias: Alias): Node | null {
    if (this.#anchors === undefined) {
      const anchors = new Map<string, Node>()
      visit(this.#document, {
        Value(_, node) {
          if (node.anchor !== undefined) anchors.set(node.anchor, node)
        },
      })
      this.#anchors = anchors
    }
    return this.#anchors.get(alias.source) ?? null
  }

  #namesOf(map: Node & { items: Pair[] }): Map<string, Pair> {
    let names = this.#names.get(map)
    if (names === undefined) {
      names = new Map(map.items.map((pair) => [nameOf(pair.key), pair]))
      this.#names.set(map, names)
    }
    return names
  }
}

function isUnquoted(message: string, { node }: Found): boolean {
  const kinds = ['number', 'boolean']
  return message.endsWith(' is not a text') && isScalar(node) && kinds.includes(typeof node.value)
}

/** The ways to take a first name off a path, the longest first. A tier's rule `a@pro` may be written under `a.tiers`. */
function* steps(path: string): IterableIterator<[name: string, rest: string]> {
  yield [path, '']
  for (let end = path.length - 1; end > 0; end--)
    if (path[end] === '.' || path[end] === '[') yield [path.slice(0, end), path.slice(end)]
  const tier = /^([^@]*)@([^@.[]*)(.*)$/s.exec(path)
  if (tier !== null) yield [tier[1]!, `.tiers.${tier[2]}${tier[3]}`]
}

function toLineEnd(text: string, [start, end]: [number, number]): { start: number; end: number } {
  const line = text.indexOf('\n', start)
  const last = line >= 0 && line < end ? line : end
  return { start, end: start + text.slice(start, last).trimEnd().length }
}

/** A part of a text as it is written, between quotes and with escapes; the whole where it spans lines. */
function partOf(text: string, node: Scalar, offset: number, length: number) {
  const [from, to] = spanOf(node)
  const isSingle = node.type === Scalar.QUOTE_SINGLE
  const isDouble = node.type === Scalar.QUOTE_DOUBLE
  const isPlain = node.type === Scalar.PLAIN
  const whole = toLineEnd(text, [from, to])
  if (whole.end < to || !(isSingle || isDouble || isPlain)) return whole
  const starts: number[] = []
  let at = isPlain ? from : from + 1
  const end = isPlain ? to : to - 1
  while (at < end) {
    starts.push(at)
    if (isSingle && text[at] === "'") at += 2
    else if (isDouble && text[at] === '\\') at += escapeLength(text[at + 1]!)
    else at += 1
  }
  starts.push(end)
  const start = starts[offset] ?? from
  return { start, end: starts[offset + length] ?? end }
}

function escapeLength(letter: string): number {
  return { x: 4, u: 6, U: 10 }[letter] ?? 2
}
