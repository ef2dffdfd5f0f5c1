// The kind `command`: any program, by its command line or as a preset.
import { type AgentKind, type Clock, ParleyError, sizeText } from '@parley/core'
import { presetCommand, presetNames, presets } from '../presets.ts'
import { programAdapter } from './adapter.ts'
import { commandText } from './command-text.ts'
import {
  type CommandAgent,
  type CommandPlan,
  type CommandSettings,
  commandFields,
  commandPlan,
  readCommand,
} from './config.ts'
import type { Variables } from './environment.ts'
import { findProgram, inFront, missingProgram, type ProgramPlace } from './find-program.ts'
import { programVersion } from './version.ts'

export interface CommandHost extends Omit<ProgramPlace, 'path'> {
  readonly clock: Clock
  /** An agent gets a part of it; programs are looked for on its PATH. */
  readonly environment: Variables
  /** Where the tokens of turns are kept; the system's temporary folder by default. */
  readonly tokens?: string | undefined
  /** A file that gets everything that the program prints. */
  readonly log?: string | undefined
  /** Whether it is no agent, but a check or a setup. */
  readonly check?: boolean | undefined
}

export const commandKind: AgentKind<CommandSettings, ProgramPlace, CommandHost> = {
  name: 'command',
  marks: ['command', 'preset'],
  fields: commandFields,
  ready: Object.fromEntries(presetNames.map(preset => [preset, { preset }])),
  costs: 'profile',
  absence: {
    code: 'program_missing',
    description: 'A program of an agent or a check is not there; nothing was started',
    problem: 'not found, or not executable:',
    remedy: 'Install what is missing, or name another in the team file or configuration.',
  },

  read: fields => readCommand(fields as CommandAgent),

  describe({ command, preset, model, args, env, pass, maxOutputBytes }) {
    const variables = Object.entries(env ?? {}).map(([name, value]) => `${name}=${value}`)
    const modelled = model === undefined ? '' : `, model ${model}`
    const more = args === undefined ? '' : `, with ${commandText(args)}`
    return {
      program: preset ?? command?.[0] ?? '',
      preset,
      runs: command === undefined ? `preset ${preset}${modelled}${more}` : commandText(command),
      facts: [
        // Beside it only what belongs to the turn: its tools, its conversation, its budget.
        ...(preset === undefined ? [] : [['command', commandText(presetCommand(preset, model, args))] as const]),
        ...(variables.length > 0 ? [['env', variables.join(' ')] as const] : []),
        ...(pass && pass.length > 0 ? [['gets', pass.join(', ')] as const] : []),
      ],
      limits: maxOutputBytes === undefined ? [] : [`${sizeText(maxOutputBytes)} of output`],
    }
  },

  needs: ({ preset }) => (preset === undefined ? undefined : presets[preset].needs),

  passes: settings => planOf(settings).pass,

  missing(settings, place) {
    const { command, env } = planOf(settings)
    const part = missingProgram(command[0], { ...place, path: env.PATH ?? place.path })
    return part && { ...part, help: settings.preset && presets[settings.preset].needs.help }
  },

  /** Only presets: nobody knows what another program does with `--version`. */
  async version({ preset }, { path }) {
    if (preset === undefined) return undefined
    const file = findProgram(preset, path, '/')
    return file === undefined ? undefined : programVersion(file, path)
  },

  adapter(name, settings, { bin, environment, ...host }) {
    const plan = planOf(settings)
    const { PATH } = plan.env
    const env = PATH === undefined ? plan.env : { ...plan.env, PATH: inFront(bin, PATH) }
    const around = { ...environment, PATH: inFront(bin, environment.PATH) }
    return programAdapter(name, { ...plan, env }, { ...host, bin, environment: around })
  },
}

function planOf(settings: CommandSettings): CommandPlan {
  const plan = commandPlan(settings)
  if (plan.ok) return plan.value
  const { field, reason } = plan.error
  throw new ParleyError('invalid_agent', field === undefined ? reason : `${field}: ${reason}`)
}
