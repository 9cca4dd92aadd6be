/** What YAML itself refuses, in our words, at the place where a person would look. */
import { type Document, isScalar, Scalar, visit, type YAMLError } from 'yaml'
import type { SpanFault } from './placed-fault.js'

type Words = Omit<SpanFault, 'path'>

/** One fault a line: what follows the first is mostly its echo. */
export function yamlFaults(text: string, document: Document): SpanFault[] {
  const faults: SpanFault[] = []
  let lineEnd = -1
  const star = document.warnings.find(({ code }) => code === 'BAD_ALIAS')
  for (const error of document.errors.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    if (error.pos[0] <= lineEnd) continue
    const end = text.indexOf('\n', error.pos[0])
    lineEnd = end < 0 ? text.length : end
    const isStar = star !== undefined && star.pos[0] <= lineEnd && star.pos[0] > error.pos[0] - 3
    const words = isStar
      ? bareStar(text.lastIndexOf('*', star.pos[0]))
      : inWords(text, document, error)
    faults.push({ path: '', ...words })
    if (error.code === 'RESOURCE_EXHAUSTION') break
  }
  return faults
}

export function bareStar(start: number, end = start + 1): Words {
  const hint = 'a text that starts with * needs quotes: "*"'
  return { start, end, message: 'a bare * means something else in YAML', hint }
}

/** The reported place, the text, the document and the error: each kind picks what it needs. */
interface Refusal {
  readonly text: string
  readonly document: Document
  readonly error: YAMLError
  readonly at: { readonly start: number; readonly end: number }
}

function inWords(text: string, document: Document, error: YAMLError): Words {
  const [start, end] = error.pos
  const words = WORDS[error.code]
  if (words !== undefined) return words({ text, document, error, at: { start, end } })
  return { start, end, message: `not YAML: ${error.message}` }
}

const WORDS: Partial<Record<YAMLError['code'], (refusal: Refusal) => Words>> = {
  BAD_ALIAS: ({ text, at }) =>
    text[at.start] === '*'
      ? bareStar(at.start)
      : { ...at, message: 'a bare & means something else in YAML', hint: 'put it in quotes' },
  TAB_AS_INDENT: ({ at }) => ({ ...at, message: 'a tab in the indentation', expected: 'spaces' }),
  BAD_INDENT: (refusal) =>
    refusal.error.message.startsWith('Flow') ? unclosed(refusal) : crooked(refusal),
  MISSING_CHAR: (refusal) =>
    refusal.error.message.startsWith('Missing closing')
      ? unclosedQuote(refusal)
      : { ...refusal.at, message: 'no value here', expected: '"name: value"' },
  MULTILINE_IMPLICIT_KEY: ({ text, at: { start, end } }) => ({
    start,
    end: Math.min(end, text.indexOf('\n', start)),
    message: 'no ": " in this line',
    expected: '"name: value", with a space after the colon',
  }),
  BLOCK_AS_IMPLICIT_KEY: (refusal) => secondColon(refusal),
  BLOCK_IN_FLOW: ({ at }) => ({
    ...at,
    message: 'no comma between two fields',
    hint: 'fields between { and } need commas; a text with ": " in it needs quotes',
  }),
  BAD_SCALAR_START: ({ text, at }) => ({
    ...at,
    message: `a text that starts with ${text[at.start]} needs quotes`,
  }),
  BAD_DQ_ESCAPE: ({ text, at }) => ({
    ...at,
    message: `unknown escape ${text.slice(at.start, at.start + 2)}`,
    hint: 'between double quotes a backslash is written \\\\; between single quotes it is itself',
  }),
  MULTIPLE_DOCS: ({ at: { start } }) => ({
    start,
    end: start + 3,
    message: 'a second document; a rules file is one',
  }),
  KEY_OVER_1024_CHARS: ({ at: { start } }) => ({
    start,
    end: start + 1,
    message: 'a name of more than 1024 characters',
  }),
  RESOURCE_EXHAUSTION: ({ at }) => ({ ...at, message: 'nested too deeply' }),
  UNEXPECTED_TOKEN: ({ text, at }) => ({
    ...at,
    message: `unexpected ${JSON.stringify(wordAt(text, at.start))}`,
  }),
}

function crooked({ text, at: { start: lineStart } }: Refusal): Words {
  const hint = 'the fields of one object start in the same column'
  const start = lineStart + /^[ ]*/.exec(text.slice(lineStart, lineStart + 1024))![0].length
  const end = start + wordAt(text, start).length
  return { start, end, message: 'indented unlike the fields above', hint }
}

/** Reported where the next thing starts; meant is what ends before. */
function unclosed({ text, at: { start }, error }: Refusal): Words {
  const end = text.slice(0, start).trimEnd().length
  const [open, close] = error.message.includes('sequence') ? '[]' : '{}'
  return { start: end, end, message: `a ${open} is not closed`, expected: close! }
}

/** Reported at the end of the text; meant is the quote that opens. */
function unclosedQuote({ document, at: { start: at }, error }: Refusal): Words {
  const quote = error.message.includes('"') ? '"' : "'"
  let start = at
  visit(document, {
    Scalar(_, node) {
      if (!isScalar(node) || node.range === undefined || node.range === null) return
      const isQuoted = node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE
      if (isQuoted && node.range[0] < at && node.range[1] >= at) start = node.range[0]
    },
  })
  return { start, end: start + 1, message: `a ${quote} is not closed` }
}

function secondColon({ text, at: { start, end } }: Refusal): Words {
  const rest = text.slice(start).split('\n', 1)[0]!
  if (rest.includes(': ') || rest.trimEnd().endsWith(':'))
    return {
      start,
      end: start + rest.trimEnd().length,
      message: 'a second ": " in one line',
      hint: 'a text with ": " in it needs quotes',
    }
  return { start, end, message: 'a value, and fields under it', expected: 'one or the other' }
}

function wordAt(text: string, start: number): string {
  return /^\S{1,20}/.exec(text.slice(start, start + 20))?.[0] ?? text.slice(start, start + 1)
}
