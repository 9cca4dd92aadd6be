/** Work that is done a little at a time, so that much of it does not keep others waiting. */
import { ServiceError } from '../error-codes.js'

/** Runs so many at once; the others wait, in the order in which they came. Throws `busy` for more. */
export function turns(most: number, mostWaiting: number) {
  const waiting: (() => void)[] = []
  let running = 0

  /** A turn that ends is the next one's. */
  const begin = async (): Promise<void> => {
    if (running < most) {
      running++
      return
    }
    if (waiting.length >= mostWaiting)
      throw new ServiceError('busy', 'too many ask for whole documents at once; ask again')
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
    })
  }

  const end = (): void => {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }

  return async <T>(work: () => Promise<T>): Promise<T> => {
    await begin()
    try {
      return await work()
    } finally {
      end()
    }
  }
}
