// One file of the server and everything it needs, and V8's code cache for it: a process that starts
// quickly and needs nothing beside it but its threads, which are bundles of their own, and PGlite.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './run.mjs'

const server = join(ROOT, 'packages/server')
await build({
  entryPoints: {
    sluice: join(server, 'src/main.ts'),
    'rules-worker': join(server, 'src/rules-file/rules-worker.ts'),
    'embedded-worker': join(server, 'src/control/embedded-worker.ts'),
    'document-worker': join(server, 'src/control/document-worker.ts'),
  },
  outdir: join(server, 'dist'),
  outExtension: { '.js': '.cjs' },
  bundle: true,
  external: ['@electric-sql/pglite', 'pg-native'],
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  minifySyntax: true,
  legalComments: 'inline',
  define: { 'import.meta.url': '__here' },
  banner: { js: "var __here = require('url').pathToFileURL(__filename).href;" },
  logLevel: 'warning',
})
// Editors fetch it from the published package: `sluice init` names it there.
copyFileSync(join(ROOT, 'docs/reference/rules.schema.json'), join(server, 'dist/rules.schema.json'))
await writeCache(join(server, 'dist/sluice.cache'))

/** A server is started and stopped once, so that the cache has what starting needs. */
async function writeCache(cache) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-build-'))
  writeFileSync(join(folder, 'sluice.yaml'), 'rules: { a: { scope: user, limits: 10/s } }\n')
  const args = [join(server, 'bin/sluice.cjs'), 'serve', '--port', '0', '--drain-delay', '0']
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, SLUICE_WRITE_CODE_CACHE: cache },
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    const isNew = !said.includes(' decides after ')
    said += chunk
    if (isNew && said.includes(' decides after ')) child.kill('SIGTERM')
  })
  const [code] = await once(child, 'close')
  rmSync(folder, { recursive: true })
  if (code !== 0) throw new Error(`what was built does not start: ${said}`)
}
