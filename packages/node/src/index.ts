// The public names of @parley/node.

export { commandText, findMarked, parseBytes, parseDuration, turnsAbove } from '@parley/agents'
export { formatProblems, type Team, type TeamProblem } from '@parley/coordinator'
export { fingerprint } from '@parley/keys'
export { parseMention } from '@parley/link'
export {
  type ExportReport,
  KEY_MARK,
  keyProblem,
  openCold,
  parsePublicKeys,
  verifyExport,
  withFile,
} from '@parley/trail'
export { EVENT_TYPES } from '@parley/trail/events'
export { startEnvironment } from './agents/caller-environment.ts'
export { type AgentDirectory, type AgentView, agentDirectory } from './agents/directory.ts'
export { describeAgent, readyHere } from './agents/kinds.ts'
export { readTeam } from './agents/team-files.ts'
export { type ConnectOptions, connectNode, type NodeClient, type NodeConnection } from './client.ts'
export {
  type Config,
  type ConfigEntry,
  type ConfigValues,
  configProblems,
  type LoadOptions,
  loadConfig,
} from './config/load.ts'
export { type ConfigProblem, problemText } from './config/source.ts'
export { NODE_EXIT } from './exit.ts'
export { nodeDefaults, nodeLimits, nodeTimes } from './limits.ts'
export { type LinkLook, ledgerProblem, lookAtLink } from './link/look.ts'
export { LOG_LEVELS, type LogLevel, type LogOptions, type NodeLog, openLog } from './log/log.ts'
export { Node, type NodeOptions, type Stopped } from './node.ts'
export { type NodeOperations, nodeOperations, type OperationDeps } from './operations/index.ts'
export type { NodeStatus } from './operations/node.ts'
export { lookAtRecord } from './profile/look.ts'
export {
  chosenProfile,
  type Environment,
  type ProfilePaths,
  parleyHome,
  prepareProfile,
  profilePaths,
} from './profile/paths.ts'
export { type NodeFile, readNodeFile, STARTED_BY, type StartedBy } from './reach/node-file.ts'
export { type RunNodeOptions, runNode } from './run.ts'
export { COMMAND_VARIABLE } from './shim.ts'
export { NODE_VERSION } from './version.ts'
