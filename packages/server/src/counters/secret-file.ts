/**
 * The secret that receipts and holds are sealed with, kept beside the counters so that they outlive a
 * restart: 16 bytes, then the first 8 bytes of their SHA-256, so that damage is noticed. A file of 16
 * bytes, without a checksum, is accepted and rewritten.
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../telemetry/log.js'

const SECRET_BYTES = 16
const CHECKSUM_BYTES = 8

/** The secret in the folder; a new one where there is none or it is damaged. Throws where none can be kept. */
export function secretOf(folder: string, log: Pick<Log, 'error'>): Uint8Array {
  const file = join(folder, 'secret')
  const kept = read(file, log)
  const secret = kept?.subarray(0, SECRET_BYTES) ?? randomBytes(SECRET_BYTES)
  if (kept?.length !== SECRET_BYTES + CHECKSUM_BYTES) {
    writeFileSync(`${file}.new`, Buffer.concat([secret, checksumOf(secret)]), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
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
  if (kept.length === SECRET_BYTES) return kept
  const secret = kept.subarray(0, SECRET_BYTES)
  if (kept.subarray(SECRET_BYTES).equals(checksumOf(secret))) return kept
  damaged(kept.length < SECRET_BYTES ? 'it is too short' : 'its checksum does not match')
  return null

  function damaged(error: string): void {
    log.error(
      `${file} is damaged and replaced: receipts, reservations and holds given out before are not known any more`,
      { code: 'secret_damaged', error },
    )
  }
}

function checksumOf(secret: Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest().subarray(0, CHECKSUM_BYTES)
}
