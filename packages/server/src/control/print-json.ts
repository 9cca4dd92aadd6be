/** JSON of a large document, printed some of it at a time, so that whoever is deciding goes on. */
import type { Slices } from '@sluice/limiter'
import { isDeep } from '../nesting.js'

/** How many items are printed between two yields. */
const STEP = 100

/** It is nested deeper than anything that is meant. */
export class TooDeep extends Error {}

/** Texts that are its JSON when joined. Throws TooDeep. */
export function* jsonTexts(value: unknown): Slices<string[]> {
  const texts: string[] = []
  yield* print(value, 0, texts)
  return texts
}

/** The first two levels item by item; below, only what has many. */
function* print(value: unknown, level: number, texts: string[]): Slices<void> {
  if (Array.isArray(value) && (level < 2 || value.length > STEP)) {
    texts.push('[')
    for (const [i, item] of value.entries()) {
      if (i > 0) texts.push(',')
      yield* printItem(item, i, level, texts)
    }
    texts.push(']')
  } else if (isFields(value) && (level < 2 || Object.keys(value).length > STEP)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined)
    texts.push('{')
    for (const [i, name] of names.entries()) {
      texts.push(`${i === 0 ? '' : ','}${JSON.stringify(name)}:`)
      yield* printItem(value[name], i, level, texts)
    }
    texts.push('}')
  } else texts.push(printOne(value))
}

function* printItem(item: unknown, i: number, level: number, texts: string[]): Slices<void> {
  yield* print(item, level + 1, texts)
  if (level === 0 || i % STEP === STEP - 1) yield
}

/** What is not there is null in a list. */
function printOne(value: unknown): string {
  if (isDeep(value)) throw new TooDeep('nested too deep')
  return JSON.stringify(value) ?? 'null'
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
