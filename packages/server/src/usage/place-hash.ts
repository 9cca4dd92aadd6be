/** What rows are found by: a hash of texts that may be too long for an index, worked out by the database. */

/** SQL for it: these columns or parameters, nulls told from texts. */
export function hashSql(columns: string): string {
  const bytes = `sha256(convert_to(json_build_array(${columns})::text, 'UTF8'))`
  return `encode(substring(${bytes} FOR 16), 'hex')::uuid`
}
