// Builds every package; generated files first, since sources may hold them.
import { run } from './run.mjs'

run('node', ['scripts/generate-lua.mjs'])
run('node', ['scripts/generate-schema.mjs'])
run('npx', ['tsc', '-b', 'packages/limiter'])
run('node', ['scripts/make-seed.mjs'])
run('node', ['scripts/bundle.mjs'])
run('node', ['scripts/generate-reference.mjs'])
