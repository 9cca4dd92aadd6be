// Packs each published package and looks at the tarball as a stranger's tools would.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, run } from './run.mjs'

const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'))
try {
  for (const name of ['limiter']) {
    run('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: join(ROOT, 'packages', name),
    })
  }
  for (const tarball of readdirSync(folder).map((file) => join(folder, file))) {
    run('npx', ['publint', tarball, '--strict'])
    run('npx', ['attw', tarball, '--profile', 'esm-only', '--no-emoji'])
  }
} finally {
  rmSync(folder, { recursive: true })
}
