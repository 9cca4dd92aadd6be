/** The documentation says what is true: its examples run and print what they say, its tables are complete. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERROR_CODES } from '../src/index.js'
import { RedisServer } from './redis/servers.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const pages = ['README.md', 'CONTRIBUTING.md', 'packages/limiter/README.md'].concat(
  readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
)

const examples = pages.flatMap((page) =>
  [...read(page).matchAll(/^```ts\n(.*?)^```$/gms)].map((match, i) => ({
    name: `${page}, example ${i + 1}`,
    code: match[1]!,
  })),
)

let redis: RedisServer

beforeAll(async () => {
  redis = await RedisServer.start()
  const built = spawnSync('npx', ['tsc', '-b', 'packages/limiter'], { cwd: root, encoding: 'utf8' })
  expect(built.stdout).toBe('')
})

afterAll(() => redis.stop())

describe('the documentation', () => {
  it.each(examples)('has an example that runs and prints what it says: $name', ({ code }) => {
    const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
    const { outputText } = ts.transpileModule(code, { compilerOptions: options })
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', outputText], {
      cwd: join(root, 'packages/limiter'),
      encoding: 'utf8',
      env: { ...process.env, REDIS_URL: redis.url },
    })
    expect(run.stderr).toBe('')
    const printed = [...code.matchAll(/^\/\/ → (.*)$/gm)].map((match) => match[1])
    expect(run.stdout.trimEnd().split('\n')).toEqual(printed)
  })

  it('has an example for newcomers', () => {
    expect(examples.length).toBeGreaterThanOrEqual(5)
  })

  it.each(pages)('has no dead link: %s', (page) => {
    for (const [, target] of read(page).matchAll(/\]\(([^)#]+)\)/g)) {
      if (target!.startsWith('http')) continue
      expect(existsSync(join(root, dirname(page), target!)), `${target} in ${page}`).toBe(true)
    }
  })

  it('has every error code, in the words of the code', () => {
    const table = read('docs/reference/errors.md')
    for (const [code, meaning] of Object.entries(ERROR_CODES))
      expect(table).toContain(`| \`${code}\` | ${meaning} |`)
    expect(table.match(/^\| `/gm)).toHaveLength(Object.keys(ERROR_CODES).length)
  })
})
