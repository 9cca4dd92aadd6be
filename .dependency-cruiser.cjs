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
