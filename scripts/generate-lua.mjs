// Compiles the algorithms' TypeScript to one Lua file, for the script that runs inside Redis.
// `node scripts/generate-lua.mjs` writes it, `--check` says whether the committed one is fresh.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import * as tstl from 'typescript-to-lua'

const limiter = fileURLToPath(new URL('../packages/limiter/', import.meta.url))
const OUTPUT = join(limiter, 'lua/algorithms.lua')

/** What depends on nothing comes first: each module is a function that finds the others by name. */
const MODULES = [
  'verdict',
  'limit-numbers',
  'token-time',
  'bucket',
  'bucket-changes',
  'fixed-window',
  'sliding-counter',
  'sliding-log',
  'concurrency',
  'algorithm',
]

const HEAD = `-- Generated from packages/limiter/src/algorithms by \`npm run build\`; not to be edited.
-- Returns the table of algorithms: decide, take, refund, grant, charge, reset, emptyAt, widthOf, and
-- limitNumbers. Rows and answers are tables of doubles indexed from 0 in the calls' arguments, that is,
-- argument i is table index i + 1. No globals, no library: it runs in Redis as it stands.
local modules = {}
local function require(name) return modules[name] end
`

function compile() {
  const files = MODULES.map((name) => join(limiter, 'src/algorithms', `${name}.ts`))
  const lua = new Map()
  const { diagnostics } = tstl.transpileFiles(
    files,
    {
      luaTarget: tstl.LuaTarget.Lua51,
      luaLibImport: tstl.LuaLibImportKind.None,
      noImplicitSelf: true,
      noHeader: true,
      noResolvePaths: MODULES.map((name) => `./${name}.js`),
      removeComments: true,
      strict: true,
      noUncheckedIndexedAccess: true,
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ['lib.es2022.d.ts'],
      types: [],
      rootDir: join(limiter, 'src/algorithms'),
    },
    (name, text) => lua.set(basename(name, '.lua'), text),
  )
  if (diagnostics.length > 0) {
    for (const { messageText } of diagnostics) console.error(JSON.stringify(messageText))
    throw new Error('the algorithms do not compile to Lua')
  }
  const parts = MODULES.map((name) => {
    const body = lua.get(name)
    if (/__TS__/.test(body))
      throw new Error(`${name} needs the transpiler's library, which Redis lacks`)
    return `modules['./${name}.js'] = (function()\n${body.trim()}\nend)()\n`
  })
  const tail = `local algorithm = modules['./algorithm.js']
algorithm.limitNumbers = modules['./limit-numbers.js'].limitNumbers
algorithm.renewHold = modules['./concurrency.js'].renewHold
return algorithm
`
  return HEAD + parts.join('') + tail
}

const generated = compile()
if (process.argv.includes('--check')) {
  let committed = ''
  try {
    committed = readFileSync(OUTPUT, 'utf8')
  } catch {
    // missing counts as stale
  }
  if (committed !== generated) {
    console.error(
      'packages/limiter/lua/algorithms.lua is not what its source compiles to. Run: npm run build',
    )
    process.exit(1)
  }
} else writeFileSync(OUTPUT, generated)
