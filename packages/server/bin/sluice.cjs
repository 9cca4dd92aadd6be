#!/usr/bin/env node
// Starts the bundle with V8's code cache beside it. Old syntax on purpose: it must run far enough on any
// Node to say which one is needed.
'use strict'
var fs = require('fs')
var module_ = require('module')
var path = require('path')
var vm = require('vm')

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

var folder = path.join(__dirname, '..', 'dist')
var file = path.join(folder, 'sluice.cjs')

function read(name) {
  try {
    return fs.readFileSync(name)
    // oxlint-disable-next-line no-unused-vars -- a catch without a name is newer than what this must run on
  } catch (error) {
    return undefined
  }
}

var source = read(file)
if (source === undefined) {
  console.error('Sluice is not built yet. Try: npm run build')
  process.exit(1)
}
// A cache of another Node or another bundle is refused by V8, and then costs nothing.
var script = new vm.Script(module_.wrap(source.toString('utf8')), {
  filename: file,
  cachedData: read(path.join(folder, 'sluice.cache')),
  importModuleDynamically: vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
})
var bundle = { exports: {} }
script.runInThisContext()(bundle.exports, module_.createRequire(file), bundle, file, folder)
if (process.env.SLUICE_WRITE_CODE_CACHE !== undefined)
  process.on('exit', function () {
    fs.writeFileSync(process.env.SLUICE_WRITE_CODE_CACHE, script.createCachedData())
  })
