// Installs and builds where that is needed, and says so.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDependencies } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

ensureDependencies()
const built = join(ROOT, 'packages/limiter/dist/index.js')
if (!existsSync(built) || newest(join(ROOT, 'packages/limiter/src')) > statSync(built).mtimeMs) {
  console.log('Building (npm run build) ...')
  run('node', ['scripts/build.mjs'])
}

function newest(folder) {
  const times = readdirSync(folder, { recursive: true }).map(
    (file) => statSync(join(folder, file)).mtimeMs,
  )
  return Math.max(...times)
}
