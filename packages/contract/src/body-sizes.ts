/** The longest bodies that are read, in bytes. */

export const CHECK_BODY_BYTES = 65_536
/** A receipt, reservation or hold names every value of its subject. */
export const VOUCHER_BODY_BYTES = 524_288
export const BATCH_BODY_BYTES = 4_194_304
/** The default of `--document-bytes`. */
export const DOCUMENT_BODY_BYTES = 16_777_216

const KB = 1024
const MB = KB * KB

/** `64 KB`, `4 MB`: of whole kilobytes. */
export function sizeInWords(bytes: number): string {
  return bytes % MB === 0 ? `${bytes / MB} MB` : `${bytes / KB} KB`
}
