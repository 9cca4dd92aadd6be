/** The shape of errors. */
import { list, literal, named, object, type Static, text } from './schema.js'

const fault = object({
  field: text('The part of the request that the error is about.'),
  message: text('What is wrong with it.'),
})

const ErrorDetail = named(
  'ErrorDetail',
  object(
    {
      code: text('A code from the table of errors.'),
      message: text('What is wrong, and what was expected.'),
    },
    {
      field: text('The part of the request that the error is about.'),
      faults: list(fault, 'Everything that is wrong.'),
      retryable: literal(
        true,
        'It is certain that nothing was done, so the same request may be sent again.',
      ),
    },
  ),
)

export const ErrorAnswer = named('Error', object({ error: ErrorDetail }))

/** An error as it is answered. */
export interface ErrorBody extends Omit<Static<typeof ErrorDetail>, 'faults'> {
  readonly faults?: readonly Static<typeof fault>[]
}
