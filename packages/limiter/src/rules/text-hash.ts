/**
 * The library's one fast hash of texts: FNV-1a, and a finish that spreads its bits. Not for keys that somebody may
 * choose to collide. Rollouts depend on its values: with others they would reach other subjects.
 */
const START = 0x811c9dc5

/** Of several texts, each call goes on from the hash `before`. */
export function textHash(text: string, before = START): number {
  let hash = before
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** Every bit of the result depends on every bit of the hash. */
export function spread(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** From 0 to 1, the same for the same two texts everywhere and always. */
export function lotOf(name: string, value: string): number {
  const hash = textHash(value, textHash('|', textHash(name)))
  return (spread(hash) >>> 0) / 2 ** 32
}
