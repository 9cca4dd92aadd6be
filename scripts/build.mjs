// Builds every package; generated files first, since sources may hold them.
import { run } from './run.mjs'

run('node', ['scripts/generate-lua.mjs'])
run('npx', ['tsc', '-b', 'packages/limiter', 'packages/contract'])
run('node', ['scripts/generate-reference.mjs'])
run('node', ['scripts/make-seed.mjs'])
run('node', ['scripts/bundle.mjs'])
