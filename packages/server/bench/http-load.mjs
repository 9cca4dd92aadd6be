// What wrk is told to send, and what it says of it. The load is made by scripts, so that no two requests
// need be the same and every server is sent the same bytes.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const KEYS = 20_000

const check = (keys) =>
  `'{"subject":{"user":"user-'..(n*7919%${keys})..'"},"resource":"/v1/search","method":"GET"}'`
const HEADERS = '{["Content-Type"]="application/json"}'

/** Requests that were made before, one after the other: making them must not be what is measured. */
function script(count, make) {
  // Formatted when they are first sent: before that wrk does not know the host.
  return `local n=0
local requests={}
local function make() ${make} end
local r=0
request=function()
  r=r%${count}+1
  local one=requests[r]
  if one==nil then one=make(); requests[r]=one end
  return one
end`
}

/** One check a request, so many of them at a time. */
export function checks(pipelined) {
  return script(
    Math.round(20_000 / pipelined),
    `local t={}
  for i=1,${pipelined} do n=n+1; t[i]=wrk.format("POST","/v1/check",${HEADERS},${check(KEYS)}) end
  return table.concat(t)`,
  )
}

/** Checks with an escape, which the fast path leaves to the ordinary one. */
export function odd() {
  return script(
    20_000,
    `n=n+1
  return wrk.format("POST","/v1/check",${HEADERS},(string.gsub(${check(KEYS)},'"user"','"\\\\u0075ser"')))`,
  )
}

/** Batches of so many checks, of so many subjects. */
export function batches(size, keys = KEYS) {
  return script(
    Math.max(4, Math.round(20_000 / size)),
    `local t={}
  for i=1,${size} do n=n+1; t[i]=${check(keys)} end
  return wrk.format("POST","/v1/check/batch",${HEADERS},'{"checks":['..table.concat(t,',')..']}')`,
  )
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
