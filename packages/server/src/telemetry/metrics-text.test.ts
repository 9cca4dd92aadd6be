import { expect, it } from 'vitest'
import { MetricsText } from './metrics-text.js'

it('is computed once a second, however often it is asked for', async () => {
  let now = 0
  let count = 0
  const metrics = async () => `text ${++count}`
  const text = new MetricsText(
    { metrics, contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    () => now,
  )
  for (; now < 3000; now += 10) {
    expect(await text.text()).toBe(`text ${1 + Math.floor(now / 1000)}`)
    await Promise.all([text.text(), text.text()])
  }
  expect(text.computed).toBe(3)
})

it('is computed again after a failure', async () => {
  let isFailing = true
  const metrics = async () => {
    if (isFailing) throw new Error('no')
    return 'text'
  }
  const text = new MetricsText(
    { metrics, contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    () => 0,
  )
  await expect(text.text()).rejects.toThrow('no')
  isFailing = false
  expect(await text.text()).toBe('text')
})
