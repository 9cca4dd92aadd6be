/** The control plane as the source that data planes follow, on both databases. */
import { expect, it } from 'vitest'
import { until } from '../../../limiter/test/redis/servers.js'
import { ControlPlane } from '../../src/control/control-plane.js'
import { digestOf, type Edit, NOTHING } from '../../src/feed/change.js'
import { inconsistencies, onEachDatabase, ROOT } from './world.js'

/** What is left of edits when the later ones took the place of the earlier. */
function stateOf(edits: readonly Edit[]): Map<string, unknown> {
  const state = new Map<string, unknown>()
  for (const { kind, namespace, key, item } of edits) {
    const place = JSON.stringify([kind, namespace, key])
    if (item === null) state.delete(place)
    else state.set(place, item)
  }
  return state
}

onEachDatabase('the feed', (world) => {
  it('gives a chain of changes that leads to the snapshot', async () => {
    const { control, namespace } = world
    const rule = { name: 'per-user', scope: 'user', limits: '100/s' }
    const { id } = await control.rules.create(ROOT, namespace, rule)
    await control.rules.patch(ROOT, id, { name: 'renamed', limits: ['5/s', '9/min'] }, 'any')
    await control.rules.create(ROOT, namespace, { ...rule, name: 'renamed@pro', tier: 'pro' })
    const subject = { namespace, scope: 'user', value: 'a:b' }
    await control.subjects.setTier(ROOT, subject, 'pro')
    await control.subjects.setOverride(ROOT, subject, { rule: 'renamed', limits: '7/s' })
    await control.blocks.add(ROOT, namespace, { scope: 'ip', value: '10.0.0.0/8', reason: 'x' })
    const { id: exempt } = await control.exemptions.add(ROOT, namespace, {
      scope: 'user',
      value: 'y',
    })
    await control.exemptions.remove(ROOT, exempt)
    await control.costs.set(ROOT, namespace, { resource: 'GET /a', cost: 2, unit: 'tokens' })
    await control.tokens.create(ROOT, { name: 'x', role: 'reader', namespaces: [namespace] })
    await control.documents.apply(
      ROOT,
      `${namespace}-2`,
      { rules: { a: { scope: 'org', limits: '1/s', tiers: { pro: '2/s' } } }, timezone: 'UTC' },
      { ifMatch: 'any' },
    )
    const changes = (await control.feed.changesAfter(NOTHING.revision))!
    let head = NOTHING
    for (const { revision, previous, digest, edits } of changes) {
      expect(revision).toBe(head.revision + 1)
      expect(previous).toBe(head.digest)
      expect(digest).toBe(digestOf(previous, edits))
      head = { revision, digest }
    }
    expect(await control.feed.head()).toEqual(head)
    const snapshot = (await control.feed.snapshot())!
    expect({ revision: snapshot.revision, digest: snapshot.digest }).toEqual(head)
    const told = stateOf(changes.flatMap(({ edits }) => JSON.parse(edits) as Edit[]))
    const shown = stateOf(snapshot.edits)
    // The namespace that is always there was never told of.
    shown.delete(JSON.stringify(['namespace', 'default', '']))
    expect(shown).toEqual(told)
    expect(await inconsistencies(world.database)).toEqual([])
  })

  it('says where changes are kept no longer', async () => {
    const { control, namespace, database } = world
    await control.rules.create(ROOT, namespace, { name: 'a', scope: 'user', limits: '1/s' })
    const { revision } = (await control.feed.head())!
    expect(await control.feed.changesAfter(revision)).toEqual([])
    expect(await control.feed.changesAfter(revision + 1)).toBe(null)
    await database.query(`UPDATE sluice.changes SET at = now() - interval '8 days'`)
    await control.tend()
    expect(await control.feed.changesAfter(revision - 2)).toBe(null)
    expect(await control.feed.changesAfter(revision - 1)).toHaveLength(1)
  })

  it('gives no more than a thousand changes, and no more than eight megabytes of them', async () => {
    const { control, namespace, database } = world
    await control.rules.create(ROOT, namespace, { name: 'a', scope: 'user', limits: '1/s' })
    const { revision } = (await control.feed.head())!
    // A history of its own, put behind the head and taken away again.
    const put = async (count: number, bytes: number) => {
      await database.query('DELETE FROM sluice.changes WHERE revision > $1', [revision])
      await database.query(
        `INSERT INTO sluice.changes (revision, at, previous, digest, edits)
          SELECT $1::bigint + i, now(), 'x', 'y', repeat('ä', $3::int / 2)
          FROM generate_series(1, $2::int) i`,
        [revision, count, bytes],
      )
      await database.query('UPDATE sluice.head SET revision = $1', [revision + count])
    }
    const { digest } = (await control.feed.head())!
    try {
      await put(1000, 2)
      expect(await control.feed.changesAfter(revision)).toHaveLength(1000)
      await put(1001, 2)
      expect(await control.feed.changesAfter(revision)).toBe(null)
      expect(await control.feed.changesAfter(revision + 1)).toHaveLength(1000)
      await put(8, 1024 * 1024)
      expect(await control.feed.changesAfter(revision)).toHaveLength(8)
      await put(8, 1024 * 1024 + 2)
      expect(await control.feed.changesAfter(revision)).toBe(null)
      expect(await control.feed.changesAfter(revision + 1)).toHaveLength(7)
    } finally {
      await put(0, 0)
    }
    expect(await control.feed.head()).toEqual({ revision, digest })
  })

  it('calls for its own writes at once, and waits until they are in force', async () => {
    const { namespace, database } = world
    const order: string[] = []
    const control = new ControlPlane({
      database,
      applied: async (revision) => {
        order.push(`applied ${revision}`)
      },
    })
    const stop = control.feed.watch(() => order.push('perhaps'))
    await control.rules.create(ROOT, namespace, { name: 'a', scope: 'user', limits: '1/s' })
    const { revision } = (await control.feed.head())!
    expect(order.filter((one) => one !== 'perhaps' || order.indexOf(one) === 0)).toContain(
      'perhaps',
    )
    expect(order.at(-1)).toBe(`applied ${revision}`)
    stop()
  })

  it('answers a write within a second or so where it is not in force yet', async () => {
    const { namespace, database } = world
    const control = new ControlPlane({
      database,
      applied: () => new Promise<void>(() => undefined),
    })
    const rule = { name: 'a', scope: 'user', limits: '1/s' }
    expect((await control.rules.create(ROOT, namespace, rule)).name).toBe('a')
  })

  it('calls for the writes of other control planes', async () => {
    const { namespace, database } = world
    const [one, other] = [new ControlPlane({ database }), new ControlPlane({ database })]
    let seen = 0
    const stop = other.feed.watch(() => seen++)
    await until('it has looked', () => seen > 0)
    const before = seen
    await one.rules.create(ROOT, namespace, { name: 'a', scope: 'user', limits: '1/s' })
    await until('it was called', () => seen > before)
    stop()
  })
})
