// Command agents for tests, from the fields that a person writes.
import { compile, type Result, refuse, Type, unwrap } from '@parley/core'
import { type CommandAdapterOptions, programAdapter } from '../command/adapter.ts'
import { type CommandAgent, type CommandPlan, commandFields, commandPlan, readCommand } from '../command/config.ts'
import type { MeteredAdapter } from '../metering.ts'

export type Config = CommandAgent & { readonly timeoutMs?: number }

const fields = compile(Type.Object(commandFields, { additionalProperties: false }), { name: 'agent' })

/** The plan that fields lead to, checked by their schemas first, as those of a team file are. */
export function planOf(config: object): Result<CommandPlan> {
  const checked = fields.check(config, 'invalid_agent')
  if (!checked.ok) return checked
  const settings = readCommand(checked.value)
  const plan = settings.ok ? commandPlan(settings.value) : settings
  return plan.ok ? plan : refuse('invalid_agent', `${plan.error.field}: ${plan.error.reason}`)
}

export function commandAdapter({ timeoutMs, ...config }: Config, options: CommandAdapterOptions = {}): MeteredAdapter {
  const plan = unwrap(planOf(config))
  return programAdapter('tester', timeoutMs === undefined ? plan : { ...plan, timeoutMs }, options)
}
