/** Every route with its handler. A contract without one does not compile. */
import { bindRoutes, type Handlers, type Route } from '../http/route.js'
import { type AuthParts, authHandlers } from './auth.js'
import { type ControlParts, refusing } from './control-parts.js'
import { decisionHandlers } from './decisions.js'
import { documentHandlers } from './documents.js'
import { type HotParts, hotHandlers } from './hot.js'
import { listHandlers } from './lists.js'
import { type OperatingParts, operatingHandlers } from './operating.js'
import { ruleHandlers } from './rules.js'
import { subjectHandlers } from './subjects.js'
import { tokenHandlers } from './tokens.js'
import { type UsageParts, usageHandlers } from './usage.js'

export interface RouteParts {
  readonly auth: AuthParts
  readonly control: ControlParts
  readonly usage: UsageParts
  readonly hot: HotParts
  readonly operating: OperatingParts
}

export function routesOf(parts: RouteParts): Route[] {
  const others = {
    ...decisionHandlers(parts.auth.decisions),
    ...authHandlers(parts.auth),
    ...usageHandlers(parts.usage),
    ...hotHandlers(parts.hot),
    ...operatingHandlers(parts.operating),
  }
  const handlers: Handlers = { ...others, ...controlHandlers(parts.control) }
  const isControl = ({ id }: Route) => !(id in others)
  const all = bindRoutes(handlers, overridesOf(parts.control))
  if (parts.control.mode !== 'feed') return all
  return [...all.filter((route) => !isControl(route)), ...refusing(all.filter(isControl))]
}

/** Only the routes of the control plane, without usage, violations and hot rows. */
export function controlRoutes(parts: ControlParts): Route[] {
  const routes = bindRoutes(controlHandlers(parts), overridesOf(parts))
  return parts.mode === 'feed' ? refusing(routes) : routes
}

function controlHandlers(parts: ControlParts) {
  return {
    ...ruleHandlers(parts),
    ...subjectHandlers(parts),
    ...listHandlers(parts),
    ...documentHandlers(parts),
    ...tokenHandlers(parts),
  }
}

/** The parts of contracts that settings change. */
function overridesOf({ documentLimits }: ControlParts) {
  return { applyDocument: { longestBody: documentLimits.mostBytes } }
}
