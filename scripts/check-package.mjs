// Packs each published package, checks the tarball with the tools of its users, installs it and runs it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/**
 * The packed server beside its dependencies, which come from this project's node_modules: `npm ci` puts
 * tarballs into npm's cache but no metadata, so a dependency that is named by its range could not be
 * found offline. An empty cache proves that none is needed.
 */
function installServer(tarball, into) {
  const { dependencies } = JSON.parse(
    readFileSync(join(ROOT, 'packages/server/package.json'), 'utf8'),
  )
  const installed = Object.keys(dependencies).map((name) => join(ROOT, 'node_modules', name))
  mkdirSync(into)
  writeFileSync(join(into, 'package.json'), '{ "private": true }')
  const cache = ['--offline', '--cache', join(folder, 'empty-cache')]
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', ...cache, tarball, ...installed], {
    cwd: into,
  })
  return join(into, 'node_modules/.bin/sluice')
}

/** Starts it with its embedded database, which is the dependency, and asks whether it is ready. */
async function startServer(command) {
  const child = spawn(command, ['serve', '--port', '0', '--drain-delay', '0', '--data', 'data'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  const address = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk
      const found = /http:\/\/localhost:\d+/.exec(said)
      if (found !== null) resolve(found[0])
    })
    child.once('close', () => reject(new Error(`the packed server does not start: ${said}`)))
    setTimeout(
      () => reject(new Error(`the packed server says no address: ${said}`)),
      60_000,
    ).unref()
  }).catch((error) => {
    child.kill('SIGKILL')
    throw error
  })
  const rules = await fetch(`${address}/v1/rules`, { signal: AbortSignal.timeout(60_000) })
    .catch((error) => ({ status: String(error) }))
    .finally(() => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  if (rules.status !== 200 || code !== 0)
    throw new Error(`the packed server answers ${rules.status} and ends with ${code}: ${said}`)
}

try {
  const limiter = pack('limiter')
  run('npx', ['publint', limiter, '--strict'])
  run('npx', ['attw', limiter, '--profile', 'esm-only', '--no-emoji'])
  const server = pack('server')
  run('npx', ['publint', server, '--strict'])
  const command = installServer(server, join(folder, 'installed'))
  run(command, ['--version'])
  await startServer(command)
} finally {
  rmSync(folder, { recursive: true })
}
