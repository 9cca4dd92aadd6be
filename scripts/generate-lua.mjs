// Compiles the algorithms' TypeScript to Lua and puts it together with the hand-written parts into the
// scripts that run inside Redis. `node scripts/generate-lua.mjs` writes them, `--check` says whether the
// committed ones are fresh.
//
// Redis runs a script's whole text at every call, so every function that a script defines costs each
// call about a tenth of a microsecond. The compiled modules are therefore flattened into one scope, and
// a script gets only the functions that it reaches, with constants in place of their names.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import * as tstl from 'typescript-to-lua'

const limiter = fileURLToPath(new URL('../packages/limiter/', import.meta.url))
const lua = (name) => readFileSync(join(limiter, 'lua', name), 'utf8')
const source = (name) => readFileSync(join(limiter, 'src', name), 'utf8')

/** What depends on nothing comes first. */
const MODULES = [
  'status',
  'verdict',
  'limit-numbers',
  'token-time',
  'bucket',
  'bucket-changes',
  'fixed-window',
  'sliding-counter',
  'sliding-log',
  'concurrency',
  'leases',
  'clock-steps',
  'algorithm',
]

/** Their constants have the same names in Lua; so have those of the modules above. */
const NAMED = ['stores/redis/script-protocol.ts', 'stores/transaction.ts']

/** For reading and writing rows that may have leases, and for leasing. */
const LEASED_ROWS = ['settleLeases', 'rollLeases', 'leasedOut', 'leadOf', 'limitNumbers']
/** For rows whose clock has stepped back. */
const RESTARTS = ['restart', 'canRestart', 'isHeldTooLong', 'carryLeases']
const LEASES = [
  ...LEASED_ROWS,
  'clearLeases',
  'leasable',
  'noteLease',
  'leaseEnd',
  'reportLease',
  'returnLease',
  'leasedGoAt',
  'noteLeasesOut',
]
const CHANGES = ['refund', 'grant', 'charge', 'reset', 'atLeast', 'renewHold']

/**
 * The script: the algorithms' functions that it calls, and the hand-written parts that follow them. A part
 * within it is the body of a function of that name, for what few calls need.
 */
const SCRIPT = {
  roots: ['nextTat', 'decideTat'],
  parts: ['start.lua'],
  inner: {
    name: 'wide',
    roots: ['decide', 'take', 'emptyAt', 'widthOf', ...LEASES, ...RESTARTS],
    parts: ['rows.lua', 'side-keys.lua', 'records.lua'],
    inner: { name: 'change', roots: CHANGES, parts: ['change.lua'], last: [] },
    last: ['wide.lua'],
  },
  last: ['plain.lua'],
}

const NOTICE =
  'Generated from packages/limiter/src/algorithms by `npm run build`; not to be edited.'

/** The compiled modules: their exported constants, and a list of named tables and functions. */
function compile() {
  const files = MODULES.map((name) => join(limiter, 'src/algorithms', `${name}.ts`))
  const compiled = new Map()
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
    (name, text) => compiled.set(basename(name, '.lua'), text),
  )
  if (diagnostics.length > 0) {
    for (const { messageText } of diagnostics) console.error(JSON.stringify(messageText))
    throw new Error('the algorithms do not compile to Lua')
  }
  const constants = new Map()
  const items = new Map()
  for (const name of MODULES) readModule(name, compiled.get(name), constants, items)
  return { constants, items }
}

/** Top-level statements start in the first column and, but for functions, are one line each. */
function readModule(name, text, exported, items) {
  if (/__TS__/.test(text))
    throw new Error(`${name} needs the transpiler's library, which Redis lacks`)
  const flat = text.replaceAll('____exports.', '')
  const constants = new Map(exported)
  for (const [, word, value] of flat.matchAll(/^(?:local )?(\w+) = (\d+)$/gm)) {
    constants.set(word, value)
    if (text.includes(`____exports.${word} = `)) exported.set(word, value)
  }
  const add = (word, code) => {
    if (items.has(word)) throw new Error(`two functions of algorithms/ are named ${word}`)
    items.set(word, withNumbers(code, constants))
  }
  for (const [, word, value] of flat.matchAll(/^(?:local )?(\w+) = (\{.*\})$/gm))
    if (word !== '____exports') add(word, `local ${word} = ${value}\n`)
  for (const [, word, rest] of flat.matchAll(/^(?:local )?function (\w+)(\([\s\S]*?^end$)/gm))
    add(word, `function ${word}${rest}\n`)
}

/** Numbers in place of constants, and array places counted from 1. Texts in quotes stay as they are. */
function withNumbers(code, constants) {
  return code
    .replace(/'[^']*'|(?<![\w.])[A-Z]\w*/g, (word) => constants.get(word) ?? word)
    .replace(/ \+ (\d+) \+ 1\]/g, (_, n) => ` + ${Number(n) + 1}]`)
    .replace(/(?<=\[)(\d+) \+ 1\]/g, (_, n) => `${Number(n) + 1}]`)
    .replace(/(?<![\w.])math\.(floor|ceil|max|min)\b/g, '$1')
}

/** The constants of a TypeScript or a Lua file, each alone on its line. */
function constantsOf(text) {
  return [...text.matchAll(/^(?:export const|local) ([A-Z][A-Z_]*) = ([\d_]+)$/gm)].map(
    ([, word, value]) => [word, value.replaceAll('_', '')],
  )
}

/** The names that the roots reach, but for those that are there already. */
function reach(items, roots, there = new Set()) {
  const reached = new Set()
  const visit = (word) => {
    if (reached.has(word) || there.has(word)) return
    reached.add(word)
    for (const [other] of items.get(word).matchAll(/(?<![\w.])[a-zA-Z]\w*/g))
      if (items.has(other)) visit(other)
  }
  for (const root of roots) visit(root)
  return reached
}

/** Tables first, and every function declared before any is defined. */
function print(items, reached) {
  const words = [...items.keys()].filter((word) => reached.has(word))
  const isFunction = (word) => items.get(word).startsWith('function')
  const functions = words.filter(isFunction)
  return [
    ...words.filter((word) => !isFunction(word)).map((word) => items.get(word)),
    `local ${functions.join(', ')}\n`,
    ...functions.map((word) => items.get(word)),
  ].join('')
}

const MATH = 'local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min\n'

function assemble(items, { roots, parts, inner, last }, there = new Set()) {
  const reached = reach(items, roots, there)
  const pieces = [print(items, reached), ...parts.map(lua)]
  if (inner !== undefined) {
    const body = assemble(items, inner, new Set([...there, ...reached]))
    pieces.push(`local function ${inner.name}()\n`, body, 'end\n')
  }
  return pieces.concat(last.map(lua)).join('')
}

/** All Lua files that a script is made of. */
function partsOf({ parts, inner, last }) {
  return [...parts, ...(inner === undefined ? [] : partsOf(inner)), ...last]
}

/** All functions that a script calls. */
function rootsOf({ roots, inner }) {
  return [...roots, ...(inner === undefined ? [] : rootsOf(inner))]
}

/** Redis need not be sent what only people read. */
function minify(code) {
  return code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')
}

function outputs() {
  const { constants, items } = compile()
  const roots = [...new Set([...rootsOf(SCRIPT), 'limitNumbers'])]
  const all = `-- ${NOTICE}
-- Returns the algorithms' functions by name. Rows and answers are tables of doubles indexed from 0 in the
-- calls' arguments, that is, argument i is table index i + 1.
${MATH}${print(items, reach(items, roots))}return { ${roots.map((root) => `${root} = ${root}`).join(', ')} }
`
  const own = [...NAMED.map(source), ...partsOf(SCRIPT).map(lua)].flatMap(constantsOf)
  const every = new Map([...constants, ...own])
  if (every.size !== constants.size + own.length) throw new Error('a constant is defined twice')
  const assembled = assemble(items, SCRIPT).replace(/^local [A-Z][A-Z_]* = \d+\n/gm, '')
  const code = MATH + withNumbers(minify(assembled), every)
  if (code.includes('`') || code.includes('\\'))
    throw new Error('the script holds a character that its TypeScript would have to escape')
  return [
    [join(limiter, 'lua/algorithms.lua'), all],
    [
      join(limiter, 'src/stores/redis/script.ts'),
      `/** ${NOTICE.replace('src/algorithms', '{src/algorithms,lua}')} */\n
export const SCRIPT = \`${code}\`
`,
    ],
  ]
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const stale = outputs().filter(([file, text]) => read(file) !== text)
if (!process.argv.includes('--check')) for (const [file, text] of stale) writeFileSync(file, text)
else if (stale.length > 0) {
  for (const [file] of stale)
    console.error(`${basename(file)} is not what its source compiles to. Run: npm run build`)
  process.exit(1)
}
