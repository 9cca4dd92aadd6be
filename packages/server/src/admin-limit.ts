/** How much may be asked of the control plane: counted by Sluice itself, in the store that instances share. */
import { createLimiter } from '@sluice/limiter'
import type { Store } from '@sluice/limiter/transport'
import { ServiceError } from './error-codes.js'
import type { AdminLimit } from './http/answers.js'
import { ADMIN_NAMESPACE } from './security/caller.js'

export function adminLimit(store: Store): AdminLimit {
  const limiter = createLimiter({
    namespace: ADMIN_NAMESPACE,
    rules: {
      'admin-reads': { scope: 'caller', resource: 'read', limits: '1000/min' },
      'admin-writes': { scope: 'caller', resource: 'write', limits: '100/min' },
    },
    store,
  })
  return async ({ id }, isWrite) => {
    const subject = { caller: id === '' ? 'unknown' : id }
    const decision = await limiter.check({ subject, resource: isWrite ? 'write' : 'read' })
    if (decision.allowed) return
    const what = isWrite ? '100 changes' : '1000 questions'
    throw new ServiceError('limited', `a caller has ${what} a minute here; ${String(decision)}`, {
      headers: decision.toHeaders(),
    })
  }
}
