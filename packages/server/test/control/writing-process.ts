/**
 * A process that writes rules as fast as it can until it is killed. Arguments: `embedded` and a folder, or
 * `postgres` and an address. It says `open`, and after each answered write the rule's name and version.
 */
import { writeSync } from 'node:fs'
import { ControlPlane } from '../../src/control/control-plane.js'
import { openEmbedded } from '../../src/control/embedded.js'
import { openPostgres } from '../../src/control/postgres.js'
import type { Caller } from '../../src/security/caller.js'

const ROOT: Caller = { name: 'root', id: 'root', role: 'admin', namespaces: null }
const say = (line: string) => writeSync(1, `${line}\n`)

async function run(kind: string, where: string): Promise<void> {
  const database = kind === 'embedded' ? openEmbedded(where) : openPostgres(where)
  const control = new ControlPlane({ database })
  const [head] = [await control.feed.head()]
  say('open')
  for (let i = head!.revision; ; i++) {
    const name = `rule-${process.pid}-${i}`
    const rule = { name, scope: 'user', resource: `/${name}`, limits: '1/s' }
    const { id } = await control.rules.create(ROOT, 'default', rule)
    say(`${name} 1`)
    const { version } = await control.rules.patch(ROOT, id, { limits: '2/s' }, [1])
    say(`${name} ${version}`)
  }
}

void run(process.argv[2]!, process.argv[3]!)
