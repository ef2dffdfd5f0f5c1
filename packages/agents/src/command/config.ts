// The configuration of a command agent: its fields in a file, its settings as a run keeps them, and the plan of a turn.
import {
  type AgentSettings,
  err,
  ok,
  parseBytes,
  parseDuration,
  type Result,
  type SettingsProblem,
  type Static,
  sizePattern,
  Type,
} from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { type PresetExtras, type PresetName, presetCommand, presetNames, presets, presetVariables } from '../presets.ts'
import { type ParserName, parserNames } from './parsers/parser.ts'

const variableName = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 256 })
const commandPart = Type.String({ maxLength: agentLimits.commandPartLength, pattern: '^[^\\u0000]*$' })

export const promptModes = ['stdin', 'argument', 'file', 'none'] as const
export type PromptMode = (typeof promptModes)[number]

export const outputNames = ['text', ...parserNames] as const
export type OutputName = 'text' | ParserName

export const commandFields = {
  command: Type.Optional(
    Type.Array(commandPart, {
      minItems: 1,
      maxItems: agentLimits.commandParts,
      title: 'Command',
      examples: [['node', 'checks/tests.mjs']],
      description:
        'Program and arguments. {prompt}, {prompt_file}, {folder}, {base}, {agent} and {task} are filled in. A relative program with a slash is relative to the folder of this file.',
    }),
  ),
  prompt: Type.Optional(
    Type.Enum([...promptModes], {
      title: 'Prompt',
      description:
        'How the prompt gets to the program. By default on standard input, or as {prompt} or {prompt_file} say.',
    }),
  ),
  output: Type.Optional(
    Type.Enum([...outputNames], {
      title: 'Output',
      description: 'What standard output is: text, JSON lines, or the JSON lines of a known program.',
    }),
  ),
  env: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>>>({
      type: 'object',
      propertyNames: variableName,
      additionalProperties: { type: 'string', pattern: '^[^\\u0000]*$' },
      maxProperties: agentLimits.variables,
      title: 'Environment',
      description: 'Variables for the program, as literal values. No secrets: use `pass`.',
    }),
  ),
  pass: Type.Optional(
    Type.Array(variableName, {
      maxItems: agentLimits.variables,
      title: 'Passed variables',
      examples: [['ANTHROPIC_API_KEY']],
      description: "Names of variables of the node's environment that the program gets.",
    }),
  ),
  max_output: Type.Optional(
    Type.String({
      pattern: sizePattern,
      title: 'Output limit',
      description: `Bytes of standard output and standard error together. Default ${agentDefaults.maxOutput}.`,
    }),
  ),
  preset: Type.Optional(
    Type.Enum([...presetNames], { title: 'Preset', description: 'A known program, instead of `command`.' }),
  ),
  model: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, title: 'Model', description: "The preset's model." }),
  ),
  args: Type.Optional(
    Type.Array(commandPart, {
      maxItems: agentLimits.commandParts,
      title: 'Arguments',
      description: 'Further arguments for the program of the preset.',
    }),
  ),
} as const

/** The fields of a command agent in a file, beside those that every kind has. */
export type CommandAgent = Static<ReturnType<typeof Type.Object<typeof commandFields>>>

/** A command agent as a run keeps it. */
export interface CommandSettings extends AgentSettings {
  readonly command?: readonly string[]
  readonly prompt?: PromptMode
  readonly output?: OutputName
  readonly env?: Readonly<Record<string, string>>
  readonly pass?: readonly string[]
  readonly maxOutputBytes?: number
  readonly preset?: PresetName
  readonly model?: string
  readonly args?: readonly string[]
}

/** With its command for a turn that has more to say to it. */
export interface KnownProgram {
  readonly name: PresetName
  command(more: PresetExtras): readonly [string, ...string[]]
}

export interface CommandPlan {
  /** Program and arguments with their placeholders. */
  readonly command: readonly [string, ...string[]]
  /** The known program that it is. */
  readonly preset?: KnownProgram
  readonly prompt: PromptMode
  readonly output: OutputName
  readonly env: Readonly<Record<string, string>>
  readonly pass: readonly string[]
  readonly timeoutMs: number
  readonly maxOutput: number
}

export function readCommand({ max_output, ...same }: CommandAgent): Result<CommandSettings, SettingsProblem> {
  const maxOutputBytes = parseBytes(max_output ?? agentDefaults.maxOutput)
  if (maxOutputBytes === undefined || maxOutputBytes < 1 || maxOutputBytes > agentLimits.outputBytes)
    return invalid('max_output', `${max_output} is not between 1B and 1GiB.`)
  const settings = { ...same, ...(max_output !== undefined && { maxOutputBytes }) }
  const plan = commandPlan(settings)
  return plan.ok ? ok(settings) : plan
}

export function commandPlan(settings: CommandSettings): Result<CommandPlan, SettingsProblem> {
  const program = settings.preset === undefined ? ownCommand(settings) : presetProgram(settings, settings.preset)
  if (!program.ok) return program
  return ok({
    ...program.value,
    env: { ...program.value.env, ...settings.env },
    timeoutMs: settings.timeoutMs ?? parseDuration(agentDefaults.timeout)!,
    maxOutput: settings.maxOutputBytes ?? parseBytes(agentDefaults.maxOutput)!,
  })
}

type Program = Pick<CommandPlan, 'command' | 'preset' | 'prompt' | 'output' | 'env' | 'pass'>

function presetProgram(agent: CommandSettings, name: PresetName): Result<Program, SettingsProblem> {
  if (!Object.hasOwn(presets, name)) return invalid('preset', `${name} is not known to this version.`)
  for (const field of ['command', 'prompt', 'output'] as const) {
    if (agent[field] !== undefined)
      return invalid(field, `the preset ${name} brings its own. Leave out either \`preset\` or \`${field}\`.`)
  }
  const command = (more?: PresetExtras) => presetCommand(name, agent.model, agent.args, more)
  return ok({
    command: command(),
    preset: { name, command },
    prompt: 'stdin',
    output: name,
    env: presets[name].env ?? {},
    pass: [...presetVariables(name), ...(agent.pass ?? [])],
  })
}

function ownCommand(agent: CommandSettings): Result<Program, SettingsProblem> {
  const [program, ...args] = agent.command ?? []
  if (program === undefined) return invalid('command', 'give a `command`, or a `preset`.')
  if (program === '') return invalid('command', 'the name of the program is empty.')
  if (agent.model !== undefined) return invalid('model', 'only a preset has a model. Put it into `command`.')
  if (agent.args !== undefined) return invalid('args', 'only a preset takes `args`. Put them into `command`.')
  if (/\{prompt(_file)?\}/.test(program)) return invalid('command', 'the prompt cannot name the program.')
  const mode = promptMode(agent, args)
  if (!mode.ok) return mode
  return ok({
    command: [program, ...args],
    prompt: mode.value,
    output: agent.output ?? 'text',
    env: {},
    pass: agent.pass ?? [],
  })
}

/** The mode that is named and the mode that the placeholders imply must be the same. */
function promptMode(agent: CommandSettings, args: readonly string[]): Result<PromptMode, SettingsProblem> {
  const argument = args.some(arg => arg.includes('{prompt}'))
  const file = args.some(arg => arg.includes('{prompt_file}'))
  if (argument && file) return invalid('command', 'use {prompt} or {prompt_file}, not both.')
  const seen = argument ? 'argument' : file ? 'file' : undefined
  const said = agent.prompt
  if (said === undefined) return ok(seen ?? 'stdin')
  if (seen !== undefined && seen !== said)
    return invalid('prompt', `${said} does not fit a command with ${argument ? '{prompt}' : '{prompt_file}'}.`)
  if (said === 'argument' && !argument) return invalid('prompt', 'argument needs {prompt} in `command`.')
  if (said === 'file' && !file) return invalid('prompt', 'file needs {prompt_file} in `command`.')
  return ok(said)
}

function invalid(field: string, reason: string): Result<never, SettingsProblem> {
  return err({ field, reason })
}
