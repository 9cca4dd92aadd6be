// What wrk is told to send, and what it says of it. The load is made by scripts, so that no two requests
// need be the same and every server is sent the same bytes.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const KEYS = 100_000

const CHECK = `'{"subject":{"user":"user-'..(n*7919%${KEYS})..'"},"resource":"/v1/search","method":"GET"}'`
const HEADERS = '{["Content-Type"]="application/json"}'

/** One check a request, so many of them at a time. */
export function checks(pipelined) {
  return `local n=0
request=function()
  local t={}
  for i=1,${pipelined} do n=n+1; t[i]=wrk.format("POST","/v1/check",${HEADERS},${CHECK}) end
  return table.concat(t)
end`
}

/** Batches of so many checks; a few that were made before. */
export function batches(size) {
  const made = Math.max(2, Math.min(64, Math.round(6400 / size)))
  // Formatted when they are first sent: before that wrk does not know the host.
  return `local n=0
local bodies={}
local requests={}
for b=1,${made} do
  local t={}
  for i=1,${size} do n=n+1; t[i]=${CHECK} end
  bodies[b]='{"checks":['..table.concat(t,',')..']}'
end
local r=0
request=function()
  r=r%${made}+1
  requests[r]=requests[r] or wrk.format("POST","/v1/check/batch",${HEADERS},bodies[r])
  return requests[r]
end`
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))

/** Requests a second, answered with 200. */
export function load(port, script, { connections, seconds }) {
  const file = join(folder, 'load.lua')
  writeFileSync(file, script)
  const args = ['-t1', `-c${connections}`, `-d${seconds}`, '-s', file, `http://127.0.0.1:${port}`]
  const { stdout, stderr } = spawnSync('taskset', ['-c', '1', 'wrk', ...args], { encoding: 'utf8' })
  const rate = Number(/Requests\/sec: +([\d.]+)/.exec(stdout)?.[1])
  if (Number.isNaN(rate)) throw new Error(`wrk said: ${stdout}${stderr}`)
  if (/Non-2xx/.test(stdout)) throw new Error(`not everything was answered with 200: ${stdout}`)
  return rate
}
