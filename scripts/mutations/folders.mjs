// Where the files of breaks and their tests are.
export const L = 'packages/limiter/src/'
export const LUA = 'packages/limiter/lua/'
export const T = 'packages/limiter/test/'
export const SIM = 'packages/simulation/test/'
export const S = 'packages/server/src/'
export const SIMSRC = 'packages/simulation/src/'
export const ST = 'packages/server/test/'
