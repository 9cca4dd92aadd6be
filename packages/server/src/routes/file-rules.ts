/** The rules in force where they come from a file: they are read-only, have version 1, and their name is their id. */
import { type ListItem, printRule, type RuleBody } from '@sluice/contract'
import type { Rule, RuleSet } from '@sluice/limiter'
import { hasLabel, quote } from '@sluice/limiter/transport'
import { type Page, type PageRequest, pageOf } from '../control/context.js'
import { costKey } from '../control/print-document.js'
import { ServiceError } from '../error-codes.js'
import type { Tenant } from '../tenants.js'

/** Rules by name. A rule set never changes, so it is sorted once. */
const sorted = new WeakMap<RuleSet, readonly Rule[]>()

function rulesByName(rules: RuleSet): readonly Rule[] {
  let list = sorted.get(rules)
  if (list === undefined) {
    list = rules.rules.map(({ rule }) => rule).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    sorted.set(rules, list)
  }
  return list
}

export function listFileRules(
  { namespace, limiter }: Tenant,
  { scope, resource, label }: { scope?: string; resource?: string; label?: string },
  { after, limit }: PageRequest,
): Page<RuleBody> {
  const found: Rule[] = []
  for (const rule of rulesByName(limiter.rules)) {
    if (after !== null && rule.name <= after[0]!) continue
    if (scope !== undefined && rule.scope !== scope) continue
    if (resource !== undefined && rule.resource !== resource) continue
    if (label !== undefined && !hasLabel(rule.labels, label)) continue
    if (found.push(rule) > limit) break
  }
  return pageOf(
    found,
    limit,
    (rule) => fileRule(namespace, rule),
    ({ name }) => [name],
  )
}

export function namedFileRule({ namespace, limiter }: Tenant, name: string): RuleBody {
  const found = limiter.rules.named(name)
  if (found === undefined) throw new ServiceError('not_found', `there is no rule ${quote(name)}`)
  return fileRule(namespace, found.rule)
}

function fileRule(namespace: string, rule: Rule): RuleBody {
  const { name } = rule
  return {
    id: name,
    name,
    namespace,
    ...printRule(rule),
    version: 1,
    created_at: null,
    updated_at: null,
  }
}

export function listFileCosts(
  { namespace, limiter }: Tenant,
  page: PageRequest,
): Page<ListItem<'listCosts'>> {
  const costs = limiter.rules.book.costs
    .map(({ resource, methods, unit, cost }) => {
      const id = `${costKey({ resource, methods })} ${unit}`
      return { id, namespace, resource, methods, unit, cost }
    })
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .filter(({ id }) => page.after === null || id > page.after[0]!)
  return pageOf(
    costs.slice(0, page.limit + 1),
    page.limit,
    (cost) => cost,
    ({ id }) => [id],
  )
}
