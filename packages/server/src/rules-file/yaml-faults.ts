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

function inWords(text: string, document: Document, error: YAMLError): Words {
  const [start, end] = error.pos
  const at = { start, end }
  switch (error.code) {
    case 'BAD_ALIAS':
      if (text[start] === '*') return bareStar(start)
      return { ...at, message: 'a bare & means something else in YAML', hint: 'put it in quotes' }
    case 'TAB_AS_INDENT':
      return { ...at, message: 'a tab in the indentation', expected: 'spaces' }
    case 'BAD_INDENT':
      return error.message.startsWith('Flow') ? unclosed(text, start, error) : crooked(text, start)
    case 'MISSING_CHAR':
      return error.message.startsWith('Missing closing')
        ? unclosedQuote(document, start, error)
        : { ...at, message: 'no value here', expected: '"name: value"' }
    case 'MULTILINE_IMPLICIT_KEY':
      return {
        start,
        end: Math.min(end, text.indexOf('\n', start)),
        message: 'no ": " in this line',
        expected: '"name: value", with a space after the colon',
      }
    case 'BLOCK_AS_IMPLICIT_KEY':
      return secondColon(text, start, end)
    case 'BLOCK_IN_FLOW':
      return {
        ...at,
        message: 'no comma between two fields',
        hint: 'fields between { and } need commas; a text with ": " in it needs quotes',
      }
    case 'BAD_SCALAR_START':
      return { ...at, message: `a text that starts with ${text[start]} needs quotes` }
    case 'BAD_DQ_ESCAPE':
      return {
        ...at,
        message: `unknown escape ${text.slice(start, start + 2)}`,
        hint: 'between double quotes a backslash is written \\\\; between single quotes it is itself',
      }
    case 'MULTIPLE_DOCS':
      return { start, end: start + 3, message: 'a second document; a rules file is one' }
    case 'KEY_OVER_1024_CHARS':
      return { start, end: start + 1, message: 'a name of more than 1024 characters' }
    case 'RESOURCE_EXHAUSTION':
      return { ...at, message: 'nested too deeply' }
    case 'UNEXPECTED_TOKEN':
      return { ...at, message: `unexpected ${JSON.stringify(wordAt(text, start))}` }
    default:
      return { ...at, message: `not YAML: ${error.message}` }
  }
}

function crooked(text: string, lineStart: number): Words {
  const hint = 'the fields of one object start in the same column'
  const start = lineStart + /^[ ]*/.exec(text.slice(lineStart, lineStart + 1024))![0].length
  const end = start + wordAt(text, start).length
  return { start, end, message: 'indented unlike the fields above', hint }
}

/** Reported where the next thing starts; meant is what ends before. */
function unclosed(text: string, start: number, error: YAMLError): Words {
  const end = text.slice(0, start).trimEnd().length
  const [open, close] = error.message.includes('sequence') ? '[]' : '{}'
  return { start: end, end, message: `a ${open} is not closed`, expected: close! }
}

/** Reported at the end of the text; meant is the quote that opens. */
function unclosedQuote(document: Document, at: number, error: YAMLError): Words {
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

function secondColon(text: string, start: number, end: number): Words {
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
