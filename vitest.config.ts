import { defineConfig } from 'vitest/config'

/** Tests that start no process: the inner loop (`npm run test:quick`). Starting one there is an error. */
const QUICK = [
  'packages/*/src/**/*.test.ts',
  'packages/limiter/test/{leases,limiter,memory,properties,rules,shards}/**/*.test.ts',
  'packages/limiter/test/types.test.ts',
  'packages/server/test/rest/{answers,routes,schemas}.test.ts',
]
const FAULTS = 'packages/*/test/**/faults/**/*.test.ts'

export default defineConfig({
  test: {
    testTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for servers, so three at a time are quicker on two cores too.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          isolate: false,
          include: QUICK,
          setupFiles: ['scripts/forbid-processes.mjs'],
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: ['packages/*/test/**/*.test.ts'],
          exclude: [...QUICK, FAULTS],
        },
      },
      { extends: true, test: { name: 'faults', include: [FAULTS] } },
    ],
  },
})
