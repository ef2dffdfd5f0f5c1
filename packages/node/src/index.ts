// The public names of @parley/node.

export { commandText, parseBytes, parseDuration } from '@parley/agents'
export { formatProblems, type Team, type TeamProblem } from '@parley/coordinator'
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
export { agentDirectory } from './agents/directory.ts'
export { describeAgent, readyHere } from './agents/kinds.ts'
export { readTeam } from './agents/team-files.ts'
export { type Config, configProblems, loadConfig } from './config/load.ts'
export { problemText } from './config/source.ts'
export { NODE_EXIT } from './exit.ts'
export { ledgerProblem, lookAtLink } from './link/look.ts'
export { Node } from './node.ts'
export type { NodeOperations } from './operations/index.ts'
export { lookAtRecord } from './profile/look.ts'
export type { ProfilePaths } from './profile/paths.ts'
export { runNode } from './run.ts'
export { NODE_VERSION } from './version.ts'
