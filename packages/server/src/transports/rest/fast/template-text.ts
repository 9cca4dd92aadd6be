/** The text of a template: what never changes, and places for the numbers of a decision. */
import type { Slot } from '@sluice/contract'
import { type DecisionRecord, REMAINING, RESET_AT } from '@sluice/limiter/transport'
import type { BytesOut } from './bytes-out.js'

const TIME = '2000-01-01T00:00:00.000Z'

/** A number that is written over spaces. */
export interface NumberPlace {
  readonly kind: Slot
  /** Where in the text. */
  readonly at: number
  /** What a full counter of the limit holds, and the digits of that: no number of a plain yes is larger. */
  readonly burst: number
  readonly width: number
  /** Where the limit's verdict is. */
  readonly verdictAt: number
}

/** A text with places for numbers. */
export class TemplateText {
  text = ''
  readonly places: NumberPlace[] = []

  add(text: string): number {
    const at = this.text.length
    this.text += text
    return at
  }

  /** Room for a number of a limit that holds `burst`. */
  addPlace(kind: Slot, burst: number, verdictAt: number): void {
    const { text, skipped, width } = blankOf(kind, burst)
    const at = this.add(text) + skipped
    this.places.push({ kind, at, burst, width, verdictAt })
  }
}

/** The text that a number is written over, how much of it comes before, and the width. */
function blankOf(kind: Slot, burst: number): { text: string; skipped: number; width: number } {
  switch (kind) {
    case 'reset_at':
      return { text: `"${TIME}"`, skipped: 1, width: TIME.length }
    case 'used':
    case 'remaining': {
      const width = String(burst).length
      return { text: ' '.repeat(width), skipped: 0, width }
    }
  }
}

/** Writes a decision's numbers over their places in a text that begins at `start`. */
export function writeNumbers(
  out: BytesOut,
  start: number,
  places: readonly NumberPlace[],
  verdicts: DecisionRecord['verdicts'],
): void {
  for (let i = 0; i < places.length; i++) {
    const { kind, at, width, burst, verdictAt } = places[i]!
    switch (kind) {
      case 'reset_at':
        out.time(start + at, Math.ceil(verdicts[verdictAt + RESET_AT]! / 1000))
        break
      case 'used':
        out.digits(start + at, width, burst - verdicts[verdictAt + REMAINING]!)
        break
      case 'remaining':
        out.digits(start + at, width, verdicts[verdictAt + REMAINING]!)
        break
      default:
        kind satisfies never
    }
  }
}
