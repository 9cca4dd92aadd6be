import { describe, expect, it } from 'vitest'
import { Breaker } from './breaker.js'

function breakerAt(start: number) {
  const time = { now: start }
  return { time, breaker: new Breaker(() => time.now) }
}

function fail(breaker: Breaker, times: number): void {
  for (let i = 0; i < times; i++) breaker.failed()
}

describe('the breaker', () => {
  it('opens after five failures in a row, and not after five with a success between', () => {
    const { breaker } = breakerAt(0)
    fail(breaker, 4)
    breaker.succeeded()
    fail(breaker, 4)
    expect(breaker.state).toBe('closed')
    expect(breaker.admits()).toBe(true)
    breaker.failed()
    expect(breaker.state).toBe('open')
    expect(breaker.admits()).toBe(false)
  })

  it('lets one probe through after ten seconds, and closes after two that succeed', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 9999
    expect(breaker.admits()).toBe(false)
    time.now = 10_000
    expect(breaker.state).toBe('half_open')
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
    breaker.succeeded()
    expect(breaker.state).toBe('half_open')
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
    time.now = 10_500
    breaker.succeeded()
    expect(breaker.state).toBe('closed')
    expect(breaker.closedAt).toBe(10_500)
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true])
  })

  it('waits twice as long after each failed probe, up to a minute, and from the start once it has closed', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    const pauses: number[] = []
    for (let i = 0; i < 5; i++) {
      const before = time.now
      while (!breaker.admits()) time.now += 500
      pauses.push(time.now - before)
      breaker.failed()
    }
    expect(pauses).toEqual([10_000, 20_000, 40_000, 60_000, 60_000])
    for (let i = 0; i < 2; i++) {
      while (!breaker.admits()) time.now += 500
      breaker.succeeded()
    }
    fail(breaker, 5)
    const before = time.now
    while (!breaker.admits()) time.now += 500
    expect(time.now - before).toBe(10_000)
  })

  it('tries another probe if nothing is heard of the first', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 10_000
    expect(breaker.admits()).toBe(true)
    time.now = 19_999
    expect(breaker.admits()).toBe(false)
    time.now = 20_000
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
  })

  it('is not opened again by answers that were under way when it opened', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 5000
    fail(breaker, 20)
    time.now = 10_000
    expect(breaker.admits()).toBe(true)
  })
})
