/** @sluice/limiter/testing: what every store must do, for those who write one. */
export type { Store } from './store/store.js'
