/**
 * Waits for work, and no longer than so many milliseconds. What comes of work that is late is not looked at any
 * more.
 */

/** Too late, it fails with this error. */
export async function within<T>(ms: number, work: Promise<T>, tooLate: () => Error): Promise<T>
/** Too late, it answers undefined. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined>
export async function within<T>(
  ms: number,
  work: Promise<T>,
  tooLate?: () => Error,
): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve, reject) => {
    timer = setTimeout(() => {
      if (tooLate === undefined) resolve(undefined)
      else reject(tooLate())
    }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A client that has lost its server may keep its promise for long. */
export function noAnswer(): Error {
  return new Error('no answer in time')
}
