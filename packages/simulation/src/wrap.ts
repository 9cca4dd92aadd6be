/** Puts something of one's own in place of a method, for a look inside or a fault to be planted. Answers how to undo it. */
export function wrap<T extends object, const K extends keyof T>(
  prototype: T,
  name: K,
  make: (self: T, method: Callable<T[K]>) => Callable<T[K]>,
): () => void {
  const method = prototype[name] as (...args: unknown[]) => unknown
  const wrapped = function (this: T, ...args: unknown[]): unknown {
    const own = ((...given: unknown[]) => method.apply(this, given)) as Callable<T[K]>
    return (make(this, own) as (...given: unknown[]) => unknown)(...args)
  }
  Object.defineProperty(prototype, name, { value: wrapped, configurable: true, writable: true })
  return () =>
    Object.defineProperty(prototype, name, { value: method, configurable: true, writable: true })
}

type Callable<M> = M extends (...args: infer A) => infer R ? (...args: A) => R : never
