/** @sluice/limiter/state: keeps the counters of a memory store over a restart. */
export { StoreState } from './stores/memory/export/store-state.js'
