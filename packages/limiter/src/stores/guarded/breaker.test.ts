import { describe, expect, it } from 'vitest'
import { Breaker } from './breaker.js'

function breakerAt(start: number) {
  const time = { now: start }
  return {
    time,
    breaker: new Breaker(
      () => time.now,
      () => 0,
    ),
  }
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

  it('lets one probe through after a second, and closes after two that succeed', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 999
    expect(breaker.admits()).toBe(false)
    time.now = 1000
    expect(breaker.state).toBe('half_open')
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
    breaker.succeeded()
    expect(breaker.state).toBe('half_open')
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
    time.now = 1500
    breaker.succeeded()
    expect(breaker.state).toBe('closed')
    expect(breaker.closedAt).toBe(1500)
    expect([breaker.admits(), breaker.admits()]).toEqual([true, true])
  })

  it('waits twice as long after each failed probe, up to half a minute, and from the start once it has closed', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    const pauses: number[] = []
    for (let i = 0; i < 7; i++) {
      const before = time.now
      while (!breaker.admits()) time.now += 500
      pauses.push(time.now - before)
      breaker.failed()
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
    for (let i = 0; i < 2; i++) {
      while (!breaker.admits()) time.now += 500
      breaker.succeeded()
    }
    fail(breaker, 5)
    const before = time.now
    while (!breaker.admits()) time.now += 500
    expect(time.now - before).toBe(1000)
  })

  it('tries another probe if nothing is heard of the first', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 1000
    expect(breaker.admits()).toBe(true)
    time.now = 10_999
    expect(breaker.admits()).toBe(false)
    time.now = 11_000
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
  })

  it('is not opened again by answers that were under way when it opened', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 500
    fail(breaker, 20)
    time.now = 1000
    expect(breaker.admits()).toBe(true)
  })

  it('pauses up to a fifth less, so that instances do not probe together', () => {
    const pauses = [0, 0.5, 0.999].map((random) => {
      const time = { now: 0 }
      const breaker = new Breaker(
        () => time.now,
        () => random,
      )
      fail(breaker, 5)
      while (!breaker.admits()) time.now += 1
      return time.now
    })
    expect(pauses).toEqual([1000, 900, 801])
  })

  it('probes at once when there is a sign of life, and still closes after two successes', () => {
    const { time, breaker } = breakerAt(0)
    fail(breaker, 5)
    time.now = 10
    breaker.probeSoon()
    expect([breaker.admits(), breaker.admits()]).toEqual([true, false])
    breaker.failed()
    expect(breaker.admits()).toBe(false)
    breaker.probeSoon()
    expect(breaker.admits()).toBe(true)
    breaker.succeeded()
    expect(breaker.state).toBe('half_open')
    expect(breaker.admits()).toBe(true)
    breaker.succeeded()
    expect(breaker.state).toBe('closed')
  })

  it('closes after two answers to calls that are made while it is open', () => {
    const { breaker } = breakerAt(0)
    fail(breaker, 5)
    breaker.sawAnswer()
    expect(breaker.state).toBe('half_open')
    breaker.sawAnswer()
    expect(breaker.state).toBe('closed')
  })

  it('is not disturbed by a sign of life while it is closed or a probe is under way', () => {
    const { time, breaker } = breakerAt(0)
    breaker.probeSoon()
    expect(breaker.state).toBe('closed')
    fail(breaker, 5)
    time.now = 1000
    expect(breaker.admits()).toBe(true)
    breaker.probeSoon()
    expect(breaker.admits()).toBe(false)
  })
})
