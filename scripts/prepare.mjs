// Installs and builds where that is needed, and says so.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureDependencies } from './ensure.mjs'
import { ROOT, run } from './run.mjs'

const SOURCES = [
  'packages/limiter/src',
  'packages/limiter/lua',
  'packages/contract/src',
  'packages/server/src',
  'scripts',
]

ensureDependencies()
const built = join(ROOT, 'packages/server/dist/sluice.cache')
if (!existsSync(built) || Math.max(...SOURCES.map(newest)) > statSync(built).mtimeMs) {
  console.log('Building (npm run build) ...')
  run('node', ['scripts/build.mjs'])
}

function newest(folder) {
  const times = readdirSync(join(ROOT, folder), { recursive: true }).map(
    (file) => statSync(join(ROOT, folder, file)).mtimeMs,
  )
  return Math.max(...times)
}
