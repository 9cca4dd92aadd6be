// Writes the pages of docs/reference that the code knows best: commands, settings, errors, metrics, the
// OpenAPI document and the schema of rules files. `node scripts/generate-reference.mjs` writes them, `--check` says whether the committed
// ones are fresh.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './run.mjs'

const SOURCES = `
export { ERROR_CODES as THROWN } from '@sluice/limiter'
export { SETTINGS, variableOf } from './config.js'
export {
  describeField,
  DOCUMENT_OBJECTS,
  DOCUMENT_PART_SCHEMAS,
  ERROR_CODES,
  LIBRARY_REMEDIES,
  openApiDocument,
  printDefault,
  rulesFileSchema,
} from '@sluice/contract'
export { RULE_FIELDS } from '@sluice/limiter/transport'
export { METRICS } from './telemetry/metric-table.js'
export { OUTCOMES } from './telemetry/meter.js'
export { VERSION } from './version.js'
export { programOf } from './cli/program.js'
export { nodesOf, treeOf } from './cli/commands/completion.js'
`

async function load() {
  const outfile = join(ROOT, '.cache/reference.cjs')
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  await build({
    stdin: { contents: SOURCES, resolveDir: join(ROOT, 'packages/server/src'), loader: 'ts' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    define: { 'import.meta.url': '__here' },
    banner: { js: "var __here = require('url').pathToFileURL(__filename).href;" },
    logLevel: 'warning',
  })
  return createRequire(import.meta.url)(outfile)
}

const NOTICE = '<!-- Generated from the sources by `npm run build`; not to be edited. -->'

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text) => `\`${text}\``
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows]
    .map((row, i) => (i === 1 ? `|${row.join('|')}|` : `| ${row.map(cell).join(' | ')} |`))
    .join('\n')

function commandsPage({ programOf, treeOf, nodesOf }) {
  const silent = { out() {}, say() {}, environment: {} }
  const tree = treeOf(programOf(silent, () => {}))
  const options = (list) =>
    table(
      ['option', 'meaning'],
      list.map((one) => [code(one.flags), one.description]),
    )
  const parts = [...nodesOf(tree)]
    .filter((node) => node !== tree)
    .map((node) => {
      const groups = [...new Set(node.options.map(({ group }) => group))]
      const words = node.arguments.map((one) => [code(one.name), one.description])
      return [
        `## ${node.path}`,
        node.description,
        `\`\`\`\n${node.path} ${node.usage}\n\`\`\``,
        words.length === 0 ? '' : table(['argument', 'meaning'], words),
        ...groups.map((name) => {
          const list = options(node.options.filter(({ group }) => group === name))
          return name === '' ? list : `**${name.replace(/:$/, '')}**\n\n${list}`
        }),
      ]
        .filter(Boolean)
        .join('\n\n')
    })
  return `# The command line

${NOTICE}

${tree.description} Data is on stdout, words are on stderr; tables have columns on a terminal and tabs in a pipe.

| exit code | means |
|---|---|
| 0 | yes, or done |
| 1 | failed |
| 2 | wrong usage |
| 3 | invalid rules |
| 4 | not authorised |
| 5 | out of reach |
| 6 | it worked, and the answer is no: denied, would change, a fault found |

Every command takes these; serve and sidecar ask no server, and refuse what would mean nothing to them:

${options(tree.options)}

${parts.join('\n\n')}
`
}

function settingsPage({ SETTINGS, variableOf }) {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => {
    const { kind, help, standard, also = [], isSecret = false } = setting
    const flag = kind.placeholder === null ? `--${name}` : `--${name} <${kind.placeholder}>`
    const isStandard = standard !== undefined && standard !== false
    return [
      isSecret ? 'none' : code(flag),
      [variableOf(name), ...also].map(code).join(', '),
      code(name),
      isStandard ? code(standard) : '',
      help,
    ]
  })
  return `# Settings

${NOTICE}

A setting of \`sluice serve\` and \`sluice sidecar\` is a flag, a variable, or a key of \`sluice.config.yaml\` in the working folder (another file: \`--config FILE\`). Flags win, then variables. A secret has no flag: everybody on the machine can read those. In a sidecar \`leases\` is \`on\` and \`rules\` is \`feed\` where nobody says otherwise, and there is no database.

${table(['flag', 'variable', 'key', 'standard', 'meaning'], rows)}

The commands that ask a server read \`SLUICE_SERVER\` and \`SLUICE_TOKEN\` too. \`NO_COLOR\`, \`FORCE_COLOR\` and \`TERM=dumb\` mean what they mean elsewhere.
`
}

const CHANGES = {
  matching: 'which requests it governs, or for whom it is enforced',
  counters: 'counters may start anew',
  nothing: '',
}

function ruleFieldsPage(sources) {
  const { RULE_FIELDS, describeField, printDefault } = sources
  const fields = Object.entries(RULE_FIELDS).map(
    ([name, { effect, change, inDefaultRule, isRequired }]) => {
      const standard = name === 'tiers' || isRequired ? null : printDefault(name)
      return [
        code(name),
        describeField(name),
        isRequired ? 'required' : standard === null ? '' : code(JSON.stringify(standard)),
        effect,
        CHANGES[change],
        inDefaultRule ? '' : 'no',
      ]
    },
  )
  const described = (schemas) =>
    Object.entries(schemas).map(([name, { description }]) => [code(name), description])
  const objects = Object.entries(sources.DOCUMENT_OBJECTS).map(
    ([name, schemas]) => `## ${name}\n\n${table(['field', 'meaning'], described(schemas))}`,
  )
  return `# Rules documents, field by field

${NOTICE}

What a rules file, \`PUT /v1/document\` and the library take. [How rules work](../concepts/rules.md); [the schema](rules.schema.json) has every form. A field that is not in force yet is accepted with a warning.

## A document

${table(['part', 'meaning'], described(sources.DOCUMENT_PART_SCHEMAS))}

## A rule

\`shown\`: the field is answered, and changes no decision. The fifth column says what a change affects.

${table(['field', 'meaning', 'default', 'effect', 'a change affects', 'in default_rule'], fields)}

${objects.join('\n\n')}
`
}

function errorsPage({ THROWN, ERROR_CODES, LIBRARY_REMEDIES }) {
  const thrown = Object.entries(THROWN).map(([name, meaning]) => [
    code(name),
    meaning,
    LIBRARY_REMEDIES[name] ?? ERROR_CODES[name].remedy,
  ])
  const sent = Object.entries(ERROR_CODES).map(([name, { status, meaning, remedy, retryable }]) => [
    status,
    code(name),
    meaning,
    remedy,
    retryable === true ? 'yes' : '',
  ])
  return `# Errors

${NOTICE}

What is thrown is a \`SluiceError\` with a \`code\`, a message, and where it helps a \`field\` or all \`faults\`. A denial is never thrown.

${table(['code', 'meaning', 'what to do'], thrown)}

## Over HTTP

Every error is \`{"error": {"code", "message", "field"?, "faults"?, "retryable"?}}\`; \`"retryable": true\` means that certainly nothing was done, so that the same request may be sent again. Errors of the codes marked so have it, but for a change of which it is not known whether the database made it; a denial is a decision that has one. \`sluice help <code>\` says the same.

${table(['status', 'code', 'meaning', 'what to do', 'retryable'], sent)}
`
}

function metricsPage({ METRICS, OUTCOMES }) {
  const rows = Object.entries(METRICS).map(([name, { type, labels, help }]) => [
    code(`sluice_${name}`),
    type,
    labels.map(code).join(', '),
    help,
  ])
  return `# Metrics

${NOTICE}

\`GET /metrics\` has them in Prometheus's format, beside those of the process. Labels come from the rules, never from a request; rules beyond the first 200 share the label \`_other\`. An \`outcome\` is one of ${OUTCOMES.map(code).join(', ')}.

${table(['name', 'type', 'labels', 'meaning'], rows)}
`
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const sources = await load()
const pages = {
  'cli.md': commandsPage(sources),
  'settings.md': settingsPage(sources),
  'errors.md': errorsPage(sources),
  'rule-fields.md': ruleFieldsPage(sources),
  'metrics.md': metricsPage(sources),
  'rules.schema.json': `${JSON.stringify(sources.rulesFileSchema(), null, 2)}\n`,
  'openapi.json': `${JSON.stringify(sources.openApiDocument({ version: sources.VERSION }), null, 2)}\n`,
}
const stale = Object.entries(pages)
  .map(([name, text]) => [join(ROOT, 'docs/reference', name), text])
  .filter(([file, text]) => read(file) !== text)
if (!process.argv.includes('--check')) for (const [file, text] of stale) writeFileSync(file, text)
else if (stale.length > 0) {
  for (const [file] of stale)
    console.error(`${basename(file)} is not what its source gives. Run: npm run build`)
  process.exit(1)
}
