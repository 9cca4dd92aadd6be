import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    testTimeout: 60_000,
    pool: 'forks',
    // Most tests wait for servers, so two at a time are quicker on two cores too.
    maxWorkers: 2,
  },
})
