/** The library in a process of its own, as it is published: built, and imported by its name. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

function node(script: string) {
  const args = ['--input-type=module', '--unhandled-rejections=strict', '-e', script]
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', timeout: 20_000 })
}

beforeAll(() => {
  const built = spawnSync('npx', ['tsc', '-b', 'packages/limiter'], { cwd: root, encoding: 'utf8' })
  expect(built.stdout).toBe('')
})

describe('a process', () => {
  it('ends though a hold is being renewed: no timer keeps it alive', () => {
    const { status, stdout, stderr } = node(`
      import { createLimiter } from '@sluice/limiter'
      const limiter = createLimiter({ rules: { r: { scope: 'user', limits: ['8 concurrent for 600s', '5/s'] } } })
      const hold = await limiter.hold({ subject: { user: 'ada' } })
      const decision = await limiter.check({ subject: { user: 'ada' } })
      console.log(hold.allowed, String(decision))
    `)
    expect(stderr).toBe('')
    expect(stdout).toBe('true allowed by r (5/s), 3 of 5 left\n')
    expect(status).toBe(0)
  })

  it('keeps a hold alive past its time-out while it lives, and says when it was lost', () => {
    const { stdout, stderr } = node(`
      import { createLimiter } from '@sluice/limiter'
      import { setTimeout as wait } from 'node:timers/promises'
      let skew = 0
      const limiter = createLimiter({
        rules: { r: { scope: 'user', limits: '1 concurrent for 1s' } },
        clock: () => Date.now() + skew,
      })
      const request = { subject: { user: 'ada' } }
      const hold = await limiter.hold(request)
      await wait(1600)
      console.log('held', !(await limiter.peek(request)).allowed, hold.lost)
      skew = 5000
      await wait(700)
      console.log('lost', hold.lost, hold.signal.aborted)
    `)
    expect(stderr).toBe('')
    expect(stdout).toBe('held true false\nlost true true\n')
  })
})
