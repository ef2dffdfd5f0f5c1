// The public names of @parley/node.

export { findMarked, parseBytes, parseDuration, presetNames, turnsAbove } from '@parley/agents'
export {
  formatProblems,
  type HighwayPreset,
  readTeam,
  type Team,
  type TeamProblem,
} from '@parley/coordinator'
export { parseMention } from '@parley/link'
export {
  type ExportReport,
  fingerprint,
  KEY_MARK,
  keyProblem,
  openCold,
  parsePublicKeys,
  verifyExport,
  withFile,
} from '@parley/trail'
export { type AgentDirectory, type AgentView, agentDirectory } from './agents.ts'
export { type CallerEnvironment, callerEnvironment, startEnvironment } from './caller-environment.ts'
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
export { findProgram } from './find-program.ts'
export { nodeDefaults, nodeLimits, nodeTimes } from './limits.ts'
export { type LinkLook, lookAtLink } from './link/look.ts'
export { LOG_LEVELS, type LogLevel, type LogOptions, type NodeLog, openLog } from './log.ts'
export { lookAtRecord } from './look.ts'
export { Node, type NodeOptions, type Stopped } from './node.ts'
export { type NodeFile, readNodeFile, STARTED_BY, type StartedBy } from './node-file.ts'
export { type NodeOperations, nodeOperations, type OperationDeps } from './operations/index.ts'
export type { NodeStatus } from './operations/node.ts'
export {
  chosenProfile,
  type Environment,
  type ProfilePaths,
  parleyHome,
  prepareProfile,
  profilePaths,
} from './paths.ts'
export { NODE_EXIT, type RunNodeOptions, runNode } from './run.ts'
export { COMMAND_VARIABLE } from './shim.ts'
export { NODE_VERSION } from './version.ts'
