// `npm start`. Old syntax on purpose: it must run far enough on any Node to say which one is needed.
'use strict'
var childProcess = require('child_process')
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

var root = path.join(__dirname, '..')
var prepared = childProcess.spawnSync(process.execPath, [path.join(__dirname, 'prepare.mjs')], {
  cwd: root,
  stdio: 'inherit',
})
if (prepared.status !== 0) process.exit(prepared.status === null ? 1 : prepared.status)

// In this process, so that signals reach it.
var command = path.join(root, 'packages/server/bin/sluice.cjs')
process.argv = [process.argv[0], command, 'serve', '--dev'].concat(process.argv.slice(2))
process.chdir(root)
require(command)
