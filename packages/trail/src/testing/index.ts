// What tests, benchmarks and demonstrations of other packages may use: a scripted run, and a way to damage a trail at rest. The suite that
// every store passes is apart (`@parley/trail/compliance`), since it needs a test runner.

export { exampleBody, exampleGenesis } from './examples.ts'
export { ScriptedRun } from './scripted-run.ts'
export { edited, type TamperOptions, tamper } from './tamper.ts'
