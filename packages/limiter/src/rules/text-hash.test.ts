import { describe, expect, it } from 'vitest'
import { lotOf } from './text-hash.js'

describe('a lot', () => {
  it('is what every release has drawn, so that rollouts reach the same subjects', () => {
    expect([lotOf('search', '42'), lotOf('per-user', 'ada'), lotOf('a', 'é😀')]).toEqual([
      0.2570969669613987, 0.4067628560587764, 0.16083742235787213,
    ])
  })
})
