// What tests of other packages may use: a scripted run, and the suite that every trail store passes.

export { trailStoreCompliance } from '../store/compliance.ts'
export { ScriptedRun } from './scripted-run.ts'
