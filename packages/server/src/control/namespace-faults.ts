/** A document that names another namespace than the one it is sent for is refused. */
import type { Fault, RulesDocument } from '@sluice/limiter'
import { quote } from '@sluice/limiter/transport'

export function namespaceFaults({ namespace: named }: RulesDocument, namespace: string): Fault[] {
  if (named === undefined || named === namespace) return []
  const message = `is ${quote(named)}, and the document is for ${quote(namespace)}`
  return [{ path: 'namespace', message }]
}
