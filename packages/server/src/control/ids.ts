/** Ids of rules, list entries, costs and tokens. */

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function isId(text: string): boolean {
  return UUID.test(text)
}
