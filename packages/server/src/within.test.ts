import { expect, it, vi } from 'vitest'
import { noAnswer, within } from './within.js'

it('waits for work no longer than it is told to', async () => {
  vi.useFakeTimers()
  try {
    expect(await within(1000, Promise.resolve(42))).toBe(42)
    await expect(within(1000, Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(vi.getTimerCount()).toBe(0)
    const never = new Promise<number>(() => {})
    const quiet = within(1000, never)
    const loud = within(1000, never, noAnswer)
    vi.advanceTimersByTime(1000)
    expect(await quiet).toBeUndefined()
    await expect(loud).rejects.toThrow('no answer in time')
  } finally {
    vi.useRealTimers()
  }
})

it('does not look at work that fails too late', async () => {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error('too late to be heard')), 20)
  })
  expect(await within(1, late)).toBeUndefined()
  await expect(late).rejects.toThrow()
})
