/** Two texts line by line, as `diff -u` shows them: what goes, what comes, and three lines around. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

const AROUND = 3
/** Beyond so many differences the shortest way is not looked for any more: all goes and all comes. */
const MOST_STEPS = 4000

interface Text {
  readonly name: string
  readonly text: string
}

/** Empty where they are the same. Each line is ended. */
export function unifiedDiff(before: Text, after: Text): string {
  const [old, next] = [ended(before.text), ended(after.text)]
  if (old === next) return ''
  const options = {
    context: AROUND,
    headerOptions: FILE_HEADERS_ONLY,
    maxEditLength: MOST_STEPS,
  }
  const patch = createTwoFilesPatch(before.name, after.name, old, next, '', '', options)
  return patch ?? `--- ${before.name}\n+++ ${after.name}\n${replaced(old, next)}`
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function replaced(old: string, next: string): string {
  const gone = old.split('\n').slice(0, -1)
  const come = next.split('\n').slice(0, -1)
  const lines = [...gone.map((line) => `-${line}\n`), ...come.map((line) => `+${line}\n`)]
  return `@@ -1,${gone.length} +1,${come.length} @@\n${lines.join('')}`
}
