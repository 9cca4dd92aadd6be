// Which room may import from which. npm's hoisting would let a wrong import through; this does not.
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: `^packages/limiter/src/${from}`, pathNot: '\\.test\\.ts$' },
  to: {
    path: '^packages/limiter/src/',
    pathNot: allowed.map((path) => `^packages/limiter/src/${path}`),
  },
})

/** The same for the server's rooms. */
const serverOnly = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: `^packages/server/src/${from}`, pathNot: '\\.test\\.ts$' },
  to: {
    path: '^packages/server/src/',
    pathNot: allowed.map((path) => `^packages/server/src/${path}`),
  },
})

module.exports = {
  forbidden: [
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'the library has no runtime dependencies',
      severity: 'error',
      from: { path: '^packages/limiter/src', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^packages/limiter/src', dependencyTypesNot: ['core'] },
    },
    only('algorithms know only their own kind', 'algorithms/', ['algorithms/']),
    only('limits know algorithms', 'limits/', ['limits/', 'algorithms/', 'faults', 'field-reader']),
    only('rules know limits', 'rules/', [
      'rules/',
      'limits/',
      'algorithms/',
      'faults',
      'field-reader',
      'errors',
      'slices',
    ]),
    only('stores know rules', 'store/', ['store/', 'rules/', 'algorithms/', 'errors', 'slices']),
    only('resilience knows the port, and falls back to memory', 'resilience/', [
      'resilience/',
      'store/store',
      'store/memory/',
      'rules/',
      'limits/',
      'algorithms/',
      'slices',
    ]),
    only('shards know the port, and what leases ask of it', 'shards/', [
      'shards/',
      'store/store',
      'leases/lease-port',
      'resilience/deadlines',
      'rules/',
      'limits/',
      'algorithms/',
      'slices',
    ]),
    {
      name: 'the library never imports the server',
      severity: 'error',
      from: { path: '^packages/limiter' },
      to: { path: '^packages/server' },
    },
    {
      name: 'the server knows the library by its exports',
      severity: 'error',
      from: { path: '^packages/server/src' },
      to: { path: '^packages/limiter/(src|test)' },
    },
    serverOnly('routes and their answers know who asks', 'http/', [
      'http/',
      'error-codes',
      'nesting',
      'security/',
    ]),
    serverOnly('the feed knows what is told, not by whom', 'feed/', [
      'feed/',
      'security/',
      'tenants',
      'telemetry/',
    ]),
    serverOnly('the control plane knows its database and what it tells', 'control/', [
      'control/',
      'counters/folder-lock',
      'feed/',
      'security/',
      'error-codes',
      'nesting',
    ]),
    serverOnly('usage is counted, carried and stored', 'usage/', [
      'usage/',
      'control/database',
      'control/partitions',
      'decisions',
      'telemetry/',
    ]),
    serverOnly('admin is the HTTP of the control plane', 'admin/', [
      'admin/',
      'control/',
      'usage/',
      'feed/',
      'http/',
      'security/',
      'error-codes',
      'tenants',
    ]),
    serverOnly('transports know decisions and their own bytes', 'transports/', [
      'transports/',
      'http/',
      'decisions',
      'tenants',
      'error-codes',
      'receipts/',
      'security/',
      'telemetry/tracing',
    ]),
    serverOnly('receipts know nobody', 'receipts/', ['receipts/']),
    serverOnly('a rules file is read by whoever asks', 'rules-file/', ['rules-file/']),
    serverOnly('who may ask is decided alone', 'security/', ['security/', 'error-codes']),
    serverOnly('telemetry sees decisions', 'telemetry/', ['telemetry/', 'decisions']),
    serverOnly('counters know where they are kept', 'counters/', [
      'counters/',
      'config',
      'receipts/once',
      'telemetry/',
    ]),
    {
      name: 'nothing but the command knows the command line',
      severity: 'error',
      from: { path: '^packages/server/src', pathNot: '^packages/server/src/(cli/|main)' },
      to: { path: '^packages/server/src/cli/' },
    },
    {
      name: 'the limiter knows the port, never a store',
      severity: 'error',
      from: {
        path: '^packages/limiter/src/[^/]+\\.ts$',
        pathNot: '(create-limiter|index|redis|testing)\\.ts$',
      },
      to: { path: '^packages/limiter/src/store/[^/]+/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    tsPreCompilationDeps: false,
  },
}
