/** Why counters cannot be kept in a folder: said when it is opened, never later. */
export class CountersError extends Error {
  override readonly name = 'CountersError'
  /** `in_use`: another server has it. `unusable`: it cannot be made, read or written. */
  readonly code: 'in_use' | 'unusable'

  constructor(code: CountersError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
