import { mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import type { Change, FeedSource } from '../../src/feed/change.js'
import { FeedFile } from '../../src/feed/feed-file.js'
import type { FeedState } from '../../src/feed/feed-state.js'
import { Follower } from '../../src/feed/follower.js'
import { Log } from '../../src/telemetry/log.js'
import { History, namespaceEdit, ruleEdit } from './history.js'

const open: Follower[] = []
afterEach(async () => {
  for (const follower of open.splice(0)) await follower.close()
})

function follow(source: FeedSource, options: { path?: string; clock?: () => number } = {}) {
  const lines: string[] = []
  const log = new Log({ write: (line) => lines.push(String(JSON.parse(line).msg)) })
  const enforced: number[] = []
  let last: FeedState | null = null
  const follower = new Follower({
    source,
    enforce: async (state) => {
      last = state
      enforced.push(state.namespaces.get('default')?.rules.size ?? 0)
    },
    file: options.path === undefined ? null : new FeedFile(options.path, log, 1),
    log,
    pollMs: 5,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  })
  open.push(follower)
  const rules = () => [...(last?.namespaces.get('default')?.rules.keys() ?? [])]
  const limitOf = (rule: string) => last?.namespaces.get('default')?.rules.get(rule)?.limits
  return { follower, enforced, rules, limitOf, lines }
}

function historyOf(...names: string[]): History {
  const history = new History()
  history.commit([namespaceEdit()])
  for (const name of names) history.commit([ruleEdit(name, '1/s')])
  return history
}

describe('a follower', () => {
  it('takes the changes one by one, and says when one is in force', async () => {
    const history = historyOf('a')
    const { follower, rules } = follow(history)
    await follower.start()
    expect(rules()).toEqual(['a'])
    const revision = history.commit([ruleEdit('b', '2/s')])
    await follower.reached(revision, 5000)
    expect(follower.head).toEqual(history.state.head)
    expect(rules()).toEqual(['a', 'b'])
    history.commit([{ kind: 'rule', namespace: 'default', key: 'a', item: null }])
    await follower.reached(4, 5000)
    expect(rules()).toEqual(['b'])
    expect(history.asked.snapshot).toBe(0)
    expect(follower.reading).toMatchObject({ revision: 4, head: 4, lag: 0, isAway: false })
  })

  it('takes the whole where the changes since are not kept any more', async () => {
    const history = historyOf('a', 'b', 'c')
    history.prunedTo = 3
    const { follower, rules } = follow(history)
    await follower.start()
    expect(rules()).toEqual(['a', 'b', 'c'])
    expect(history.asked.snapshot).toBe(1)
  })

  it('is not misled by changes that are lost, doubled or out of order', async () => {
    const history = historyOf('a')
    const muddled: Record<string, (changes: Change[]) => Change[]> = {
      lost: (changes) => changes.slice(1),
      doubled: (changes) => changes.flatMap((change) => [change, change]),
      reversed: (changes) => changes.toReversed(),
      'seen before': () => history.changes.slice(0, 1),
      altered: (changes) => changes.map((c) => ({ ...c, edits: c.edits.replace('s', 'h') })),
      none: () => [],
    }
    for (const [how, muddle] of Object.entries(muddled)) {
      const source = Object.assign(Object.create(history) as History, {
        changesAfter: async (after: number) =>
          muddle(history.changes.filter(({ revision }) => revision > after)),
      })
      const { follower, rules } = follow(source)
      await follower.start()
      history.commit([ruleEdit(`${how.replaceAll(' ', '-')}-1`, '1/s')])
      history.commit([ruleEdit(`${how.replaceAll(' ', '-')}-2`, '1/s')])
      await follower.reached(history.state.head.revision, 5000)
      expect(follower.head, how).toEqual(history.state.head)
      expect(rules(), how).toEqual([...history.state.namespaces.get('default')!.rules.keys()])
    }
  })

  it('takes no change of another history, though it has the next revision', async () => {
    const [first, other] = [historyOf('a'), historyOf('x', 'y')]
    const { follower, rules } = follow(first)
    await follower.start()
    expect(follower.head.revision).toBe(2)
    Object.assign(first, {
      head: () => other.head(),
      snapshot: () => other.snapshot(),
      changesAfter: (revision: number) => other.changesAfter(revision),
    })
    await follower.reached(3, 5000)
    expect(rules()).toEqual(['x', 'y'])
  })

  it('keeps what it knows while the source is away, and catches up by itself', async () => {
    const history = historyOf('a')
    const { follower, rules, lines } = follow(history)
    await follower.start()
    history.isAway = true
    await until('it has noticed', () => follower.reading.isAway)
    history.commit([ruleEdit('b', '1/s')])
    expect(rules()).toEqual(['a'])
    history.isAway = false
    await follower.reached(3, 5000)
    expect(rules()).toEqual(['a', 'b'])
    await until('it has noticed', () => !follower.reading.isAway)
    expect(lines.filter((line) => line.includes('feed'))).toEqual([
      'the feed is away; revision 2 stays in force',
      'the feed is back',
    ])
  })

  it('does not go back to a snapshot that is older than its rules where the changes are lost', async () => {
    const history = historyOf('a', 'b', 'c')
    const old = await historyOf('a').snapshot()
    let [isLost, snapshot] = [false, old]
    const source: FeedSource = {
      head: () => history.head(),
      snapshot: async () => snapshot,
      changesAfter: async (revision) => (isLost ? [] : history.changesAfter(revision)),
      watch: () => () => undefined,
    }
    const { follower, rules, lines } = follow(source)
    await follower.start()
    expect(rules()).toEqual(['a', 'b', 'c'])
    isLost = true
    history.commit([ruleEdit('d', '1/s')])
    await until('it has looked', () => follower.reading.isAway)
    expect([rules(), follower.reading.revision]).toEqual([['a', 'b', 'c'], 4])
    expect(lines).toContain('the feed is away; revision 4 stays in force')
    snapshot = await history.snapshot()
    await until('it has the new one', () => follower.reading.revision === 5)
    expect(rules()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('goes over to another history, where it is longer at once, where it is shorter after some patience', async () => {
    let now = 0
    const first = historyOf('a', 'b', 'c')
    let current: History = first
    const source: FeedSource = {
      head: () => current.head(),
      snapshot: () => current.snapshot(),
      changesAfter: (revision) => current.changesAfter(revision),
      watch: () => () => undefined,
    }
    const { follower, rules } = follow(source, { clock: () => now })
    await follower.start()
    current = historyOf('x', 'y', 'z')
    await until('it has the other', () => follower.head.digest === current.state.head.digest)
    expect(rules()).toEqual(['x', 'y', 'z'])
    const before = follower.head
    current = historyOf('m')
    const asked = current.asked.head
    await until('it has looked a few times', () => current.asked.head > asked + 3)
    expect(follower.head).toEqual(before)
    now = 3001
    await until('it has the shorter', () => follower.head.revision === 2)
    expect(rules()).toEqual(['m'])
  })

  it('says for how long it is behind', async () => {
    let now = 1000
    const history = historyOf('a')
    let stuck: (() => void) | null = null
    const follower = new Follower({
      source: history,
      enforce: async () => {
        if (history.state.head.revision > 2)
          await new Promise<void>((resolve) => {
            stuck = resolve
          })
      },
      file: null,
      log: new Log({ write: () => undefined }),
      pollMs: 5,
      clock: () => now,
    })
    open.push(follower)
    await follower.start()
    history.commit([ruleEdit('b', '1/s')])
    await until('it is putting it in force', () => stuck !== null)
    now += 2500
    expect(follower.reading).toEqual({ revision: 2, head: 3, lag: 2.5, isAway: false })
    stuck!()
    await follower.reached(3, 5000)
    await until('it is up to date', () => follower.reading.lag === 0)
  })
})

describe('the last known state on disk', () => {
  const pathOf = () => join(mkdtempSync(join(tmpdir(), 'sluice-feed-')), 'rules.ndjson')

  it('is what an instance starts from while its source is away', async () => {
    const path = pathOf()
    const history = historyOf('a', 'b')
    const first = follow(history, { path })
    await first.follower.start()
    await first.follower.close()
    history.isAway = true
    const second = follow(history, { path })
    await second.follower.start()
    expect(second.rules()).toEqual(['a', 'b'])
    expect(second.follower.reading).toMatchObject({ revision: 3, isAway: true })
    history.isAway = false
    history.commit([ruleEdit('a', '9/s')])
    await second.follower.reached(4, 5000)
    expect(second.limitOf('a')).toBe('9/s')
    expect(history.asked.snapshot).toBe(0)
  })

  it('is not believed where it was cut short or changed', async () => {
    const path = pathOf()
    const history = historyOf(...Array.from({ length: 20 }, (_, i) => `r${i}`))
    const first = follow(history, { path })
    await first.follower.start()
    await first.follower.close()
    const whole = readFileSync(path)
    history.isAway = true
    for (const length of [0, 1, 40, whole.length >> 1, whole.length - 2, whole.length - 1]) {
      writeFileSync(path, whole)
      truncateSync(path, length)
      const { follower, rules } = follow(history, { path })
      await follower.start()
      expect(rules()).toEqual([])
      await follower.close()
    }
  })
})
