import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Sketch } from './sketch.js'

const key = fc.tuple(fc.nat(2), fc.nat(200).map(String))

describe('a sketch', () => {
  it('never estimates too low, whatever shares its cells', () => {
    fc.assert(
      fc.property(
        fc.array(key, { maxLength: 600 }),
        fc.constantFrom(1, 8, 64, 1024),
        (keys, width) => {
          const sketch = new Sketch(width)
          const exact = new Map<string, number>()
          for (const [group, value] of keys) {
            const name = `${group} ${value}`
            const count = (exact.get(name) ?? 0) + 1
            exact.set(name, count)
            expect(sketch.add(group, value)).toBeGreaterThanOrEqual(count)
          }
        },
      ),
    )
  })

  it('knows what it is told, and forgets it', () => {
    const sketch = new Sketch(64)
    sketch.atLeast(0, 'ada', 41)
    expect(sketch.add(0, 'ada')).toBe(42)
    sketch.clear()
    expect(sketch.add(0, 'ada')).toBe(1)
  })

  it('tells most apart where there is room for them', () => {
    const sketch = new Sketch(4096)
    let wrong = 0
    for (let i = 0; i < 4096; i++) if (sketch.add(1, `user-${i}`) !== 1) wrong++
    expect(wrong).toBeLessThan(4096 * 0.2)
  })
})
