/** What a command's end says: yes, no, or what kind of trouble. */
export const EXIT = {
  yes: 0,
  failed: 1,
  usage: 2,
  invalidRules: 3,
  notAuthorised: 4,
  outOfReach: 5,
  /** It worked, and the answer is no. */
  no: 6,
} as const

/** Ends a command with words and no stack. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

/** For a command that worked and whose answer may be no. */
export type SetExitCode = (code: number) => void
