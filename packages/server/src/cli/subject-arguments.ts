/** A subject as it is written behind a command: `user:42`. */
import { quote } from '@sluice/limiter/transport'
import { UsageError } from '../config.js'

export interface SubjectArgument {
  readonly scope: string
  readonly value: string
  /** As it was written. */
  readonly text: string
}

const SUBJECT = /^([a-z][a-z0-9_]{0,31}):(.+)$/s

export function readSubject(text: string): SubjectArgument {
  const match = SUBJECT.exec(text)
  if (match === null)
    throw new UsageError(`${quote(text)} is not scope:value; expected a subject such as user:42`)
  return { scope: match[1]!, value: match[2]!, text }
}
