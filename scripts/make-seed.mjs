// A whole, empty database for PGlite to begin with: making one takes it seconds, unpacking one does not.
// Made again only where it is missing or of another version of PGlite.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ROOT } from './run.mjs'

const dist = join(ROOT, 'packages/server/dist')
const seed = join(dist, 'database-seed.tar.gz')
const stamp = join(dist, 'database-seed.version')
const require = createRequire(join(ROOT, 'packages/server/package.json'))
const { PGlite } = require('@electric-sql/pglite')
const library = require.resolve('@electric-sql/pglite')
const { version } = JSON.parse(readFileSync(join(dirname(library), '../package.json'), 'utf8'))

const isFresh = existsSync(seed) && existsSync(stamp) && readFileSync(stamp, 'utf8') === version
if (!isFresh) {
  console.log(`Making the seed of the embedded database (PGlite ${version}) ...`)
  mkdirSync(dist, { recursive: true })
  rmSync(stamp, { force: true })
  const database = await PGlite.create()
  const dump = await database.dumpDataDir('gzip')
  await database.close()
  writeFileSync(`${seed}.new`, Buffer.from(await dump.arrayBuffer()))
  renameSync(`${seed}.new`, seed)
  writeFileSync(stamp, version)
}
