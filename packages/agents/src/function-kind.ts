// The kind `function`: a function of the program that the node runs in, by the name under which the program gave it.
import {
  type AgentKind,
  type AgentSettings,
  type Clock,
  durationText,
  ok,
  ParleyError,
  Type,
  takeTurnWithin,
} from '@parley/core'
import { type AgentFunction, functionAdapter } from './function.ts'
import { agentLimits } from './limits.ts'

export interface FunctionPlace {
  readonly functions: Readonly<Record<string, AgentFunction>>
}

interface FunctionSettings extends AgentSettings {
  readonly function: string
}

export const functionKind: AgentKind<FunctionSettings, FunctionPlace, FunctionPlace & { readonly clock: Clock }> = {
  name: 'function',
  marks: ['function'],
  fields: {
    function: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: agentLimits.functionName,
        title: 'Function',
        description: 'A function of the program that Parley is embedded in, by its name there.',
        examples: ['summarise'],
      }),
    ),
  },
  costs: 'profile',
  folderless: 'possible',
  absence: {
    code: 'unknown_function',
    description: 'The program that runs the node has no such function',
    problem: 'the program that runs the node has no function',
    remedy: 'Give it to the node as one of its `functions`, or name another agent.',
  },

  read: fields => ok({ function: String(fields.function) }),

  describe: settings => {
    const runs = `function ${settings.function}`
    return { program: runs, runs, facts: [], limits: [] }
  },

  needs: () => undefined,

  passes: () => [],

  missing: (settings, { functions }) =>
    Object.hasOwn(functions, settings.function) ? undefined : { name: settings.function },

  adapter(name, { function: called, timeoutMs }, { clock, functions }) {
    const run = Object.hasOwn(functions, called) ? functions[called] : undefined
    if (!run) throw new ParleyError('invalid_agent', `The program that runs the node has no function ${called}.`)
    const adapter = functionAdapter(name, run, { clock })
    if (timeoutMs === undefined) return adapter
    const late = new ParleyError('timeout', `The function ${called} was not done after ${durationText(timeoutMs)}.`)
    return {
      ...adapter,
      takeTurn: (input, emit) =>
        takeTurnWithin({ clock, timeoutMs, late }, input, limited => adapter.takeTurn(limited, emit)),
    }
  },
}
