// The configuration of a command agent: its schema, which team files and the node's configuration embed, and the plan
// that it comes to. What the schema cannot say (fields that exclude each other) is refused here.

import { compile, ok, type Result, refuse, type Static, Type } from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { type PresetName, presetArguments, presetNames, presets } from '../presets.ts'
import { type ParserName, parserNames } from './parsers/parser.ts'
import { durationPattern, parseBytes, parseDuration, sizePattern } from './quantities.ts'

const variableName = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 256 })
const commandPart = Type.String({ maxLength: agentLimits.commandPartLength, pattern: '^[^\\u0000]*$' })

export const promptModes = ['stdin', 'argument', 'file', 'none'] as const
export type PromptMode = (typeof promptModes)[number]

export const outputNames = ['text', ...parserNames] as const
export type OutputName = 'text' | ParserName

export const CommandAgentSchema = Type.Object(
  {
    command: Type.Optional(
      Type.Array(commandPart, {
        minItems: 1,
        maxItems: agentLimits.commandParts,
        description:
          'Program and arguments. {prompt}, {prompt_file}, {folder}, {base}, {agent} and {task} are filled in. A relative program with a slash is relative to the folder of this file.',
      }),
    ),
    prompt: Type.Optional(
      Type.Enum([...promptModes], {
        description:
          'How the prompt gets to the program. By default on standard input, or as {prompt} or {prompt_file} say.',
      }),
    ),
    output: Type.Optional(
      Type.Enum([...outputNames], {
        description: 'What standard output is: text, JSON lines, or the JSON lines of a known program.',
      }),
    ),
    env: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        type: 'object',
        propertyNames: variableName,
        additionalProperties: { type: 'string', pattern: '^[^\\u0000]*$' },
        maxProperties: agentLimits.variables,
        description: 'Variables for the program, as literal values. No secrets: use `pass`.',
      }),
    ),
    pass: Type.Optional(
      Type.Array(variableName, {
        maxItems: agentLimits.variables,
        description: "Names of variables of the node's environment that the program gets.",
      }),
    ),
    timeout: Type.Optional(
      Type.String({
        pattern: durationPattern,
        description: `How long a turn may take, such as 90s, 10m or 1h30m. Default ${agentDefaults.timeout}.`,
      }),
    ),
    max_output: Type.Optional(
      Type.String({
        pattern: sizePattern,
        description: `Bytes of standard output and standard error together. Default ${agentDefaults.maxOutput}.`,
      }),
    ),
    preset: Type.Optional(
      Type.Enum([...presetNames], { description: 'A known program, instead of `command`.' }),
    ),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: "The preset's model." })),
    args: Type.Optional(
      Type.Array(commandPart, {
        maxItems: agentLimits.commandParts,
        description: 'Further arguments for the program of the preset.',
      }),
    ),
  },
  { additionalProperties: false },
)

export type CommandAgent = Static<typeof CommandAgentSchema>

/** What a configuration comes to. */
export interface CommandPlan {
  /** Program and arguments with their placeholders. */
  readonly command: readonly [string, ...string[]]
  readonly prompt: PromptMode
  readonly output: OutputName
  readonly env: Readonly<Record<string, string>>
  readonly pass: readonly string[]
  readonly timeoutMs: number
  readonly maxOutput: number
  readonly preset?: PresetName
}

const validator = compile(CommandAgentSchema, { name: 'agent' })

/** The plan, or a refusal with code `invalid_agent` that says what to change. */
export function planCommand(config: unknown): Result<CommandPlan> {
  const checked = validator.check(config, 'invalid_agent')
  if (!checked.ok) return checked
  const agent = checked.value
  const timeoutMs = parseDuration(agent.timeout ?? agentDefaults.timeout)
  if (timeoutMs === undefined || timeoutMs < 1 || timeoutMs > agentLimits.timeoutMs)
    return invalid(`timeout: ${agent.timeout} is not between 1ms and 7d.`)
  const maxOutput = parseBytes(agent.max_output ?? agentDefaults.maxOutput)
  if (maxOutput === undefined || maxOutput < 1 || maxOutput > agentLimits.outputBytes)
    return invalid(`max_output: ${agent.max_output} is not between 1B and 1GiB.`)
  const program = agent.preset === undefined ? ownCommand(agent) : presetCommand(agent, agent.preset)
  if (!program.ok) return program
  return ok({ ...program.value, env: agent.env ?? {}, timeoutMs, maxOutput })
}

type Program = Pick<CommandPlan, 'command' | 'prompt' | 'output' | 'pass' | 'preset'>

function presetCommand(agent: CommandAgent, name: PresetName): Result<Program> {
  for (const field of ['command', 'prompt', 'output'] as const) {
    if (agent[field] !== undefined)
      return invalid(
        `${field}: the preset ${name} brings its own. Leave out either \`preset\` or \`${field}\`.`,
      )
  }
  const preset = presets[name]
  const args = presetArguments(preset, agent.model, agent.args ?? [])
  return ok({
    command: [preset.program, ...args],
    prompt: preset.prompt,
    output: preset.output,
    pass: [...preset.pass, ...(agent.pass ?? [])],
    preset: name,
  })
}

function ownCommand(agent: CommandAgent): Result<Program> {
  const [program, ...args] = agent.command ?? []
  if (program === undefined) return invalid('command: give a `command`, or a `preset`.')
  if (program === '') return invalid('command: the name of the program is empty.')
  if (agent.model !== undefined) return invalid('model: only a preset has a model. Put it into `command`.')
  if (agent.args !== undefined) return invalid('args: only a preset takes `args`. Put them into `command`.')
  if (/\{prompt(_file)?\}/.test(program)) return invalid('command: the prompt cannot name the program.')
  const mode = promptMode(agent, args)
  if (!mode.ok) return mode
  return ok({
    command: [program, ...args],
    prompt: mode.value,
    output: agent.output ?? 'text',
    pass: agent.pass ?? [],
  })
}

/** Said or seen, but never both in different ways. */
function promptMode(agent: CommandAgent, args: readonly string[]): Result<PromptMode> {
  const argument = args.some(arg => arg.includes('{prompt}'))
  const file = args.some(arg => arg.includes('{prompt_file}'))
  if (argument && file) return invalid('command: use {prompt} or {prompt_file}, not both.')
  const seen = argument ? 'argument' : file ? 'file' : undefined
  const said = agent.prompt
  if (said === undefined) return ok(seen ?? 'stdin')
  if (seen !== undefined && seen !== said)
    return invalid(`prompt: ${said} does not fit a command with ${argument ? '{prompt}' : '{prompt_file}'}.`)
  if (said === 'argument' && !argument) return invalid('prompt: argument needs {prompt} in `command`.')
  if (said === 'file' && !file) return invalid('prompt: file needs {prompt_file} in `command`.')
  return ok(said)
}

function invalid(message: string): Result<never> {
  return refuse('invalid_agent', message)
}
