// Writes the rules file's JSON Schema, for editors, from its TypeScript. `node scripts/generate-schema.mjs`
// writes it, `--check` says whether the committed one is fresh.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './run.mjs'

const source = join(ROOT, 'packages/server/src/rules-file/rules-schema.ts')
const target = join(ROOT, 'docs/reference/rules.schema.json')

const { outputFiles } = await build({
  entryPoints: [source],
  bundle: true,
  format: 'esm',
  write: false,
})
const code = Buffer.from(outputFiles[0].contents).toString('base64')
const { RULES_SCHEMA } = await import(`data:text/javascript;base64,${code}`)
const text = `${JSON.stringify(RULES_SCHEMA, null, 2)}\n`

function committed() {
  try {
    return readFileSync(target, 'utf8')
  } catch {
    return ''
  }
}

if (committed() !== text) {
  if (!process.argv.includes('--check')) writeFileSync(target, text)
  else {
    console.error('rules.schema.json is not what its source gives. Run: npm run build')
    process.exit(1)
  }
}
