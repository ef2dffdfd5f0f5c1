// The public names of @parley/agents.

export { type CommandAdapterOptions, commandAdapter, EXIT_BLOCKED } from './command/adapter.ts'
export {
  type CommandAgent,
  CommandAgentSchema,
  type CommandPlan,
  type OutputName,
  outputNames,
  type PromptMode,
  planCommand,
  promptModes,
} from './command/config.ts'
export { passedByDefault } from './command/environment.ts'
export { promptText } from './command/prompt.ts'
export { durationPattern, parseBytes, parseDuration, sizePattern } from './command/quantities.ts'
export { TOKEN_FILE } from './command/token-file.ts'
export { type DetectedPreset, detectPresets, type VersionCall } from './detect.ts'
export {
  type AgentFunction,
  type FunctionAdapterOptions,
  type FunctionAnswer,
  functionAdapter,
} from './function.ts'
export { agentDefaults, agentLimits } from './limits.ts'
export { type MeteredAdapter, type MeteredResult, sumUsage, type TurnMeter } from './metering.ts'
export { type Preset, type PresetName, type PresetNeeds, presetNames, presets } from './presets.ts'
export {
  type Ended,
  type EndOptions,
  endMarked,
  endRun,
  findMarked,
  type MarkedProcess,
  TURN_MARKER,
  turnMarker,
} from './processes.ts'
export { type TurnAbove, turnsAbove } from './turns-above.ts'
