// A setup file of the quick tests: whatever would start a process there fails, so that they stay quick.
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

function forbid(command) {
  throw new Error(
    `a quick test starts ${command}: move it to a folder that vitest.config.ts does not list as quick`,
  )
}

for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'])
  childProcess[name] = forbid
syncBuiltinESMExports()
