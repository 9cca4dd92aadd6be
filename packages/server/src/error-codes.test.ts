import { ERROR_CODES, type ErrorCode, isRetryable } from '@sluice/contract'
import { describe, expect, it } from 'vitest'
import { ServiceError } from './error-codes.js'

const CODES = Object.keys(ERROR_CODES) as ErrorCode[]

describe('an error', () => {
  it('says that it may be sent again where certainly nothing was done, and only there', () => {
    expect(CODES.filter(isRetryable).toSorted()).toEqual([
      'busy',
      'database_unavailable',
      'disk_unwritable',
      'store_unavailable',
    ])
    for (const code of CODES)
      expect(new ServiceError(code, 'x').toJSON()).toEqual({
        code,
        message: 'x',
        ...(isRetryable(code) ? { retryable: true } : {}),
      })
  })

  it('does not say so where a change may have been made', () => {
    const error = new ServiceError('database_unavailable', 'x', { mayHaveRun: true })
    expect(error.toJSON()).toEqual({ code: 'database_unavailable', message: 'x' })
  })

  it('has a status, a meaning and what to do', () => {
    for (const code of CODES) {
      const { status, meaning, remedy } = ERROR_CODES[code]
      expect(status).toBeGreaterThanOrEqual(400)
      expect([code, meaning.length > 10, remedy.length > 10]).toEqual([code, true, true])
    }
  })
})
