import { afterEach, expect, it, vi } from 'vitest'
import { Instances } from './heartbeat.js'

afterEach(() => vi.restoreAllMocks())

it('there are as many instances as were counted at most within the last minute', () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const instances = new Instances(3)
  const counts = [3]
  expect(instances.count).toBe(3)
  for (const [at, count] of [
    [1000, 5],
    [2000, 2],
    [50_000, 4],
    [61_500, 1],
    [111_000, 1],
  ] as const) {
    now = at
    instances.saw(count)
    counts.push(instances.count)
  }
  expect(counts).toEqual([3, 5, 5, 5, 4, 1])
})
