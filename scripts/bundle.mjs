// One file of the server and everything it needs, and V8's code cache for it: a process that starts
// quickly and needs nothing beside it but the thread that reads large rules files, a second bundle.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './run.mjs'

const server = join(ROOT, 'packages/server')
await build({
  entryPoints: {
    sluice: join(server, 'src/main.ts'),
    'rules-worker': join(server, 'src/rules-file/rules-worker.ts'),
  },
  outdir: join(server, 'dist'),
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  minifySyntax: true,
  legalComments: 'inline',
  define: { 'import.meta.url': '__here' },
  banner: { js: "var __here = require('url').pathToFileURL(__filename).href;" },
  logLevel: 'warning',
})
const cache = join(server, 'dist/sluice.cache')
spawnSync(process.execPath, [join(server, 'bin/sluice.cjs'), 'warm-up'], {
  stdio: 'ignore',
  env: { ...process.env, SLUICE_WRITE_CODE_CACHE: cache },
})
