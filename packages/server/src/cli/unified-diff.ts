/** Two texts line by line, as `diff -u` shows them: what goes, what comes, and three lines around. */

interface Line {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
}

const AROUND = 3
/** Beyond so many differences the shortest way is not looked for any more: all goes and all comes. */
const MOST_STEPS = 4000

/** Empty where they are the same. Each line is ended. */
export function unifiedDiff(
  before: { readonly name: string; readonly text: string },
  after: { readonly name: string; readonly text: string },
): string {
  const lines = linesBetween(linesOf(before.text), linesOf(after.text))
  const hunks = hunksOf(lines)
  if (hunks.length === 0) return ''
  return `--- ${before.name}\n+++ ${after.name}\n${hunks.join('')}`
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function linesBetween(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const shorter = Math.min(before.length, after.length) - start
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++
  const same = (texts: readonly string[]): Line[] => texts.map((text) => ({ mark: ' ', text }))
  return [
    ...same(before.slice(0, start)),
    ...shortest(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ]
}

/** Myers' way: the fewest lines that go and come. */
function shortest(before: readonly string[], after: readonly string[]): Line[] {
  const most = Math.min(before.length + after.length, MOST_STEPS)
  /** How far each diagonal has come, by the number of steps. */
  const trace: Map<number, number>[] = []
  let reached = new Map<number, number>([[1, 0]])
  for (let steps = 0; steps <= most; steps++) {
    trace.push(new Map(reached))
    for (let k = -steps; k <= steps; k += 2) {
      const [down, right] = [reached.get(k + 1) ?? -1, reached.get(k - 1) ?? -1]
      let x = k === -steps || (k !== steps && right < down) ? down : right + 1
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x++
      reached.set(k, x)
      if (x >= before.length && x - k >= after.length) return backwards(trace, before, after)
    }
    reached = new Map(reached)
  }
  return [
    ...before.map((text): Line => ({ mark: '-', text })),
    ...after.map((text): Line => ({ mark: '+', text })),
  ]
}

function backwards(
  trace: readonly Map<number, number>[],
  before: readonly string[],
  after: readonly string[],
): Line[] {
  const lines: Line[] = []
  let [x, y] = [before.length, after.length]
  for (let steps = trace.length - 1; steps >= 0; steps--) {
    const reached = trace[steps]!
    const k = x - y
    const [down, right] = [reached.get(k + 1) ?? -1, reached.get(k - 1) ?? -1]
    const from = k === -steps || (k !== steps && right < down) ? k + 1 : k - 1
    const startX = reached.get(from) ?? 0
    const startY = startX - from
    while (x > startX && y > startY && x > 0 && y > 0) {
      lines.push({ mark: ' ', text: before[--x]! })
      y--
    }
    if (steps === 0) break
    if (x === startX) lines.push({ mark: '+', text: after[--y]! })
    else lines.push({ mark: '-', text: before[--x]! })
  }
  return lines.toReversed()
}

function hunksOf(lines: readonly Line[]): string[] {
  const hunks: string[] = []
  let [at, before, after] = [0, 1, 1]
  while (at < lines.length) {
    const first = lines.findIndex(({ mark }, i) => i >= at && mark !== ' ')
    if (first < 0) break
    const start = Math.max(at, first - AROUND)
    for (; at < start; at++) [before, after] = [before + 1, after + 1]
    const end = endOf(lines, first)
    const shown = lines.slice(start, end)
    const count = (mark: string) => shown.filter((line) => line.mark !== mark).length
    const [gone, come] = [count('+'), count('-')]
    const head = `@@ -${span(before, gone)} +${span(after, come)} @@\n`
    hunks.push(head + shown.map(({ mark, text }) => `${mark}${text}\n`).join(''))
    ;[at, before, after] = [end, before + gone, after + come]
  }
  return hunks
}

/** Where the lines around the last of these differences end; near ones belong together. */
function endOf(lines: readonly Line[], first: number): number {
  let last = first
  for (let i = first; i < lines.length && i <= last + 2 * AROUND; i++)
    if (lines[i]!.mark !== ' ') last = i
  return Math.min(lines.length, last + 1 + AROUND)
}

function span(start: number, count: number): string {
  return count === 1 ? String(start) : `${count === 0 ? start - 1 : start},${count}`
}
