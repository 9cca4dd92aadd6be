// Packs each published package and looks at the tarball as a stranger's tools would.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, run } from './run.mjs'

const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'))

function pack(name) {
  const before = new Set(readdirSync(folder))
  run('npm', ['pack', '--silent', '--pack-destination', folder], {
    cwd: join(ROOT, 'packages', name),
  })
  return join(
    folder,
    readdirSync(folder).find((file) => !before.has(file)),
  )
}

try {
  const limiter = pack('limiter')
  run('npx', ['publint', limiter, '--strict'])
  run('npx', ['attw', limiter, '--profile', 'esm-only', '--no-emoji'])
  const server = pack('server')
  run('npx', ['publint', server, '--strict'])
  // It is one bundle with no dependencies: what is installed must run.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  run('npm', ['install', '--silent', '--offline', '--no-audit', '--no-fund', server], {
    cwd: folder,
  })
  run(join(folder, 'node_modules/.bin/sluice'), ['--version'])
} finally {
  rmSync(folder, { recursive: true })
}
