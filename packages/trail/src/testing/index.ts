// What tests, benchmarks and demonstrations of other packages may use: a scripted run, a way to damage a trail at rest,
// and the keys of a profile over any files. The suite that every store passes is apart (`@parley/trail/compliance`),
// since it needs a test runner.

export { KeyFile } from '../key-file.ts'
export { KeyRing } from '../keys/key-ring.ts'
export { ProfileKeys, type TrailKeys } from '../keys/profile-keys.ts'
export { exampleBody, exampleGenesis } from './examples.ts'
export { ScriptedRun } from './scripted-run.ts'
export { edited, type TamperOptions, tamper } from './tamper.ts'
