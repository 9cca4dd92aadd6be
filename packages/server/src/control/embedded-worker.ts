/**
 * The thread in which the embedded PostgreSQL lives, because it keeps its thread busy: a bundle of its
 * own. It opens the files, or what can be saved of them, and runs one statement after the other.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import type { Row } from './database.js'
import type { EmbeddedAnswer, EmbeddedPlace, EmbeddedRequest } from './embedded-protocol.js'

const INT8 = 20
const NUMERIC = 1700
const parsers = { [INT8]: Number, [NUMERIC]: Number }

const place = workerData as EmbeddedPlace
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
const say = (answer: EmbeddedAnswer) => parentPort!.postMessage(answer)

function blobOf(file: string): Blob | undefined {
  return existsSync(file) ? new Blob([readFileSync(file)]) : undefined
}

async function open(): Promise<PGlite> {
  if (existsSync(place.beginning)) rmSync(place.files, { recursive: true, force: true })
  if (!existsSync(join(place.files, 'PG_VERSION'))) return begin()
  // Left by a process that was killed; whose the files are is known by the lock.
  rmSync(join(place.files, 'postmaster.pid'), { force: true })
  requireRoom()
  try {
    return await PGlite.create(place.files, { parsers })
  } catch (error) {
    renameSync(place.files, place.broken)
    const why = `the database did not open (${String(error)}); it is kept as ${place.broken}`
    say({ kind: 'log', message: why })
    if (!existsSync(place.dump)) say({ kind: 'log', message: 'there is no dump; it begins empty' })
    return begin()
  }
}

/** On a full disk the best files do not open: they are not broken, and nothing takes their place. */
const ROOM_BYTES = 32 * 1024 * 1024

function requireRoom(): void {
  const { bavail, bsize } = statfsSync(place.files)
  if (bavail * bsize < ROOM_BYTES)
    throw new Error(`the disk of ${place.files} is full; it needs 32 MB to open`)
}

/** From the last dump if there is one, else from the seed, else from nothing. */
async function begin(): Promise<PGlite> {
  for (const source of [place.dump, place.seed, null]) {
    const loadDataDir = source === null ? undefined : blobOf(source)
    if (source !== null && loadDataDir === undefined) continue
    rmSync(place.files, { recursive: true, force: true })
    writeFileSync(place.beginning, '')
    mkdirSync(place.files, { recursive: true, mode: 0o700 })
    try {
      const database = await PGlite.create(place.files, {
        parsers,
        ...(loadDataDir === undefined ? {} : { loadDataDir }),
      })
      rmSync(place.beginning)
      if (source === place.dump) say({ kind: 'log', message: `the database is ${ofDump()}` })
      return database
    } catch (error) {
      if (source === null) throw error
      say({ kind: 'log', message: `${source} does not open as a database: ${String(error)}` })
    }
  }
  throw new Error('unreachable')
}

async function serve(): Promise<void> {
  const database = await open()
  let last: Promise<void> = Promise.resolve()
  parentPort!.on('message', (request: EmbeddedRequest) => {
    last = last.then(() => answer(database, request))
  })
  say({ kind: 'open' })
}

async function answer(database: PGlite, request: EmbeddedRequest): Promise<void> {
  const { id } = request
  try {
    say({ kind: 'rows', id, rows: await run(database, request) })
  } catch (error) {
    const { message, code, constraint } = error as Error & { code?: string; constraint?: string }
    say({ kind: 'refused', id, message, state: code ?? '', constraint: constraint ?? '' })
  }
}

async function run(database: PGlite, request: EmbeddedRequest): Promise<Row[]> {
  if (request.kind === 'query') {
    const { rows } = await database.query<Row>(request.text, [...request.parameters])
    return rows
  }
  if (request.kind === 'close') await database.close()
  else await dump(database)
  return []
}

function ofDump(): string {
  return `the dump of ${statSync(place.dump).mtime.toISOString()}: later changes are not in it`
}

/** Written beside and renamed: there is always a whole one. */
async function dump(database: PGlite): Promise<void> {
  await database.query('CHECKPOINT')
  const file = await database.dumpDataDir('gzip')
  const beside = `${place.dump}.new`
  writeFileSync(beside, Buffer.from(await file.arrayBuffer()), { mode: 0o600, flush: true })
  renameSync(beside, place.dump)
}

void serve()
