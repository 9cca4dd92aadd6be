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

function run(args) {
  var done = childProcess.spawnSync(process.execPath, args, {
    cwd: path.join(__dirname, '..'),
    stdio: 'inherit',
  })
  if (done.status !== 0) process.exit(done.status === null ? 1 : done.status)
}

run([path.join(__dirname, 'prepare.mjs')])
run([path.join(__dirname, 'demo.mjs')].concat(process.argv.slice(2)))
