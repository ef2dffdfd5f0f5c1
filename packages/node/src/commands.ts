// What a command needs to reach the node of a profile. Nothing of the node itself is loaded with it, since most of the
// time that a short command takes is spent on reading code.
export { turnsAbove } from '@parley/agents'
export { connectNode, type NodeConnection } from './client.ts'
export { interruptedRuns } from './profile/interrupted.ts'
export { chosenPaths } from './profile/paths.ts'
export { readNodeFile } from './reach/node-file.ts'
export { reachNode } from './reach/reach.ts'
