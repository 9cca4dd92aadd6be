/**
 * A rules file in its canonical form: two spaces a level, `[a, b]` and `{ a: b }` where the author chose
 * one line, two spaces before a comment. Names keep their order, comments their places, and the rules
 * their meaning; formatting twice changes nothing. A faulty file is refused, not guessed at.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  isCollection,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  visit,
  YAMLMap,
  YAMLSeq,
} from 'yaml'
import { type BadRules, parseYaml, readRules, withoutMark } from './read-rules.js'
import { YamlValue } from './yaml-value.js'

/** Longer ones are broken, an item a line. */
const WIDEST = 100
/** Comments may move once, from between things to beside one; then they stay. */
const MOST_ROUNDS = 5
/** Marks that a lexer puts between what is written: a document, the end of brackets, a text. */
const TEXT_FOLLOWS = '\u001f'
const MARKS = new Set(['\u0002', '\u0018', TEXT_FOLLOWS])

export function formatRules(text: string): { readonly text: string } | BadRules {
  const read = readRules(text)
  if ('faults' in read) return read
  const unix = withoutMark(text).replaceAll('\r\n', '\n')
  const meant = valueOf(unix)
  let formatted = unix
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const before = formatted
    formatted = formatOnce(before)
    // What cannot be written better without saying something else stays as it is.
    if (!isDeepStrictEqual(valueOf(formatted), meant)) return { text: unix }
    if (formatted === before) return { text: formatted }
  }
  return { text: unix }
}

function valueOf(text: string): unknown {
  const document = parseYaml(text)
  return document.errors.length > 0 ? undefined : new YamlValue(document, text.length).value
}

type Context = Parameters<NonNullable<YAMLMap['toString']>>[0]

function formatOnce(text: string): string {
  const document = parseYaml(text)
  visit(document, {
    Collection(_, node) {
      if (node.flow === true && isSeq(node)) paddedBy(node, YAMLSeq.prototype, '')
      if (node.flow === true && isMap(node)) paddedBy(node, YAMLMap.prototype, ' ')
    },
    Pair(_, pair) {
      keepBeside(text, pair)
    },
  })
  return apart(document.toString({ indent: 2, lineWidth: 0, indentSeq: true }))
}

/** Braces have a space inside, brackets have none; the library knows one for both. */
function paddedBy(node: YAMLMap | YAMLSeq, kind: YAMLMap | YAMLSeq, padding: string): void {
  node.toString = (context?: Context, ...rest: never[]) => {
    if (context === undefined) return kind.toString.call(node)
    const options = { ...context.options, lineWidth: WIDEST }
    const own = { ...context, flowCollectionPadding: padding, options }
    return (kind.toString as (...all: unknown[]) => string).call(node, own, ...rest)
  }
}

/** A comment in the line of a name stays there; the library would put it above what stands under the name. */
function keepBeside(text: string, { key, value }: Pair): void {
  if (!isScalar(key) || !isCollection(value) || value.flow === true) return
  const { commentBefore } = value
  if (typeof commentBefore !== 'string' || !key.range || !value.range) return
  if (!/^[ \t]*:[ \t]*#/.test(text.slice(key.range[1], value.range[0]))) return
  const [first = '', ...others] = commentBefore.split('\n')
  key.comment = first
  value.commentBefore = others.length === 0 ? null : others.join('\n')
}

/** Two spaces before a comment that follows something on its line. */
function apart(text: string): string {
  const tokens = [...new Lexer().lex(text)]
  const spaced = tokens.map((token, i) => {
    const follows =
      tokens[i + 1]?.startsWith('#') === true && !(tokens[i - 1] ?? '\n').endsWith('\n')
    return token === ' ' && follows && tokens[i - 1] !== TEXT_FOLLOWS ? '  ' : token
  })
  return spaced.filter((token) => !MARKS.has(token)).join('')
}
