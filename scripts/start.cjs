// `npm start`. Old syntax on purpose: it must run far enough on any Node to say which one is needed.
'use strict'
var childProcess = require('child_process')
var fs = require('fs')
var path = require('path')

var WANTED = [20, 19]
var version = process.versions.node.split('.').map(Number)
if (version[0] < WANTED[0] || (version[0] === WANTED[0] && version[1] < WANTED[1])) {
  console.error(
    'Sluice needs Node 20.19 or newer; this is ' +
      process.version +
      ' (' +
      process.execPath +
      '). Try: nvm install 22',
  )
  process.exit(2)
}

// A signal to npm ends npm, and not all of them end its shell. None reaches this process, which notices that
// its parent or npm is gone. One that was started otherwise may outlive its parent. The parent is a shell whose
// parent is npm, or npm itself: some shells are replaced by the command that they run.
var isOfNpm = process.env.npm_lifecycle_event === 'start'
var parent = process.ppid
var npm = isShell(parent) ? parentOf(parent) : null
function isOrphan() {
  if (!isOfNpm) return false
  if (process.ppid !== parent) return true
  var now = npm === null ? null : parentOf(parent)
  return now !== null && now !== npm
}
/** Whether it runs a command that it was given as a text: `sh -c …`. */
function isShell(pid) {
  try {
    return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').split('\0')[1] === '-c'
    // oxlint-disable-next-line no-unused-vars -- old Nodes cannot read a catch without it
  } catch (error) {
    return false
  }
}
/** Null where that cannot be known: on Linux alone it can. */
function parentOf(pid) {
  try {
    var stat = fs.readFileSync('/proc/' + pid + '/stat', 'utf8')
    // The name, which comes first, may have spaces and brackets.
    return stat.slice(stat.lastIndexOf(')')).split(' ')[2]
    // oxlint-disable-next-line no-unused-vars -- old Nodes cannot read a catch without it
  } catch (error) {
    return null
  }
}

var root = path.join(__dirname, '..')
var prepared = childProcess.spawnSync(process.execPath, [path.join(__dirname, 'prepare.mjs')], {
  cwd: root,
  stdio: 'inherit',
})
if (prepared.status !== 0) process.exit(prepared.status === null ? 1 : prepared.status)

if (isOrphan()) process.exit(0)

// In this process, so that signals reach it.
var command = path.join(root, 'packages/server/bin/sluice.cjs')
process.argv = [process.argv[0], command, 'serve', '--dev'].concat(process.argv.slice(2))
process.chdir(root)
require(command)

var timer = setInterval(function () {
  if (!isOrphan()) return
  clearInterval(timer)
  process.kill(process.pid, 'SIGTERM')
}, 200)
timer.unref()
