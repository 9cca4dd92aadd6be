/** The control plane and its HTTP on each of the databases, for a file of tests. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { ControlPlane } from '../../src/control/control-plane.js'
import type { Database } from '../../src/control/database.js'
import type { Caller } from '../../src/security/caller.js'
import { type AdminServer, startAdmin } from './admin-server.js'
import { DATABASES, type TestDatabase } from './databases.js'

export interface World {
  readonly place: TestDatabase
  readonly database: Database
  readonly control: ControlPlane
  readonly admin: AdminServer
  /** Another for each test. */
  readonly namespace: string
}

export const ROOT: Caller = { name: 'root', id: 'root', role: 'admin', namespaces: null }

export function onEachDatabase(name: string, tests: (world: World) => void): void {
  describe.each(DATABASES)(`${name} in $kind`, ({ start }) => {
    const world = {} as { -readonly [K in keyof World]: World[K] }
    beforeAll(async () => {
      world.place = await start()
      world.database = world.place.open()
      world.control = new ControlPlane({ database: world.database })
      world.admin = await startAdmin({ control: world.control, mode: 'database' })
    })
    afterAll(async () => {
      expect(world.admin.failures).toEqual([])
      await world.admin.stop()
      await world.database.close()
      await world.place.stop()
    })
    beforeEach(() => {
      world.namespace = `n-${randomUUID()}`
    })
    tests(world)
  })
}

/** Everything that a history must agree on: revisions, digests, versions and the audit. */
export async function inconsistencies(database: Database): Promise<unknown[]> {
  return database.query(
    `SELECT 'head' AS what, head.revision::text AS where FROM sluice.head
      WHERE revision > 0 AND NOT EXISTS (SELECT 1 FROM sluice.changes
        WHERE changes.revision = head.revision AND changes.digest = head.digest)
    UNION ALL SELECT 'chain', a.revision::text FROM sluice.changes a JOIN sluice.changes b
      ON b.revision = a.revision - 1 WHERE a.previous <> b.digest
    UNION ALL SELECT 'digest', revision::text FROM sluice.changes WHERE digest <> left(encode(
      sha256(convert_to(previous || E'\\n' || edits, 'UTF8')), 'hex'), 32)
    UNION ALL SELECT 'gap', a.revision::text FROM sluice.changes a WHERE a.revision > 1
      AND NOT EXISTS (SELECT 1 FROM sluice.changes b WHERE b.revision = a.revision - 1)
    UNION ALL SELECT 'rule without its version', id::text FROM sluice.rules WHERE NOT EXISTS (
      SELECT 1 FROM sluice.rule_versions v WHERE v.id = rules.id AND v.version = rules.version
        AND v.body = rules.body AND NOT v.deleted)
    UNION ALL SELECT 'version after the rule', v.id::text FROM sluice.rule_versions v
      JOIN sluice.rules ON rules.id = v.id WHERE v.version > rules.version
    UNION ALL SELECT 'version of no change', v.id::text FROM sluice.rule_versions v WHERE NOT EXISTS (
      SELECT 1 FROM sluice.changes WHERE changes.revision = v.revision)
    UNION ALL SELECT 'version without audit', v.id::text FROM sluice.rule_versions v WHERE NOT EXISTS (
      SELECT 1 FROM sluice.audit WHERE audit.revision = v.revision
        AND audit.target = 'rule ' || v.name)
    UNION ALL SELECT 'audit of no change', audit.revision::text FROM sluice.audit WHERE NOT EXISTS (
      SELECT 1 FROM sluice.changes WHERE changes.revision = audit.revision)`,
  )
}
