/**
 * The secret that receipts and holds are sealed with, kept beside the counters so that they outlive a
 * restart: 16 bytes, and in a file beside it the first 8 bytes of their SHA-256, so that damage is noticed.
 * A secret without a checksum is accepted and given one: releases before it read and write only that.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../telemetry/log.js'

const SECRET_BYTES = 16
const CHECKSUM_BYTES = 8

/** The secret in the folder; a new one where there is none or it is damaged. Throws where none can be kept. */
export function secretOf(folder: string, log: Pick<Log, 'error'>): Uint8Array {
  const file = join(folder, 'secret')
  const kept = read(file, log)
  const secret = kept ?? randomBytes(SECRET_BYTES)
  if (kept === null) {
    // A checksum of another secret would condemn the new one after a crash in between.
    rmSync(sumOf(file), { force: true })
    replace(file, secret)
  }
  if (!existsSync(sumOf(file))) replace(sumOf(file), checksumOf(secret))
  return secret
}

/** Null: there is none that can be used. */
function read(file: string, log: Pick<Log, 'error'>): Buffer | null {
  let kept: Buffer
  try {
    kept = readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') damaged(String(error))
    return null
  }
  let sum: Buffer | null = null
  try {
    sum = readFileSync(sumOf(file))
  } catch {
    // Written by a release without checksums.
  }
  if (kept.length === SECRET_BYTES && (sum === null || sum.equals(checksumOf(kept)))) return kept
  damaged(kept.length === SECRET_BYTES ? 'its checksum does not match' : 'it has another length')
  return null

  function damaged(error: string): void {
    log.error(
      `${file} is damaged and replaced: receipts, reservations and holds given out before are not known any more`,
      { code: 'secret_damaged', error },
    )
  }
}

function sumOf(file: string): string {
  return `${file}.sum`
}

function replace(file: string, content: Uint8Array): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function checksumOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest().subarray(0, CHECKSUM_BYTES)
}
