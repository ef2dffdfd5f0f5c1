// What a person changes at a gate (W-HWY-08), as people type it, and in the words in which a wrong change is refused.
// The kernel checks the whole subject once more.
import { compile, ok, parseDuration, type Result, refuse } from '@parley/core'
import {
  type GateType,
  INTEGRATION_STRATEGIES,
  RESOLUTION_STRATEGIES,
  TASK_PRIORITIES,
  WORKSPACE_PRIORITIES,
} from '@parley/trail/events'
import { BudgetSchema, limitsOf, workspaceBudget } from '../team/budget-fields.ts'

interface Field {
  /** What can be typed, with an example. */
  readonly form: string
  /** The kernel's value; undefined where the text is none. What is no text is for the kernel to judge. */
  readonly read: (text: string) => unknown
}

const text = (form: string): Field => ({ form, read: said => (said === '' ? undefined : said) })
const oneOf = (names: readonly string[]): Field => ({
  form: names.join(', '),
  read: said => (names.includes(said) ? said : undefined),
})
const AMOUNTS = 'an amount of each, as cost:5,tokens:200000,working_time:30m; 5 alone is US dollars'

const FIELDS: { readonly [Type in GateType]: Readonly<Record<string, Field>> } = {
  task_approval: {
    name: text('the title of the task'),
    description: text('what its agent is told, as description=Only the English pages'),
    priority: oneOf(TASK_PRIORITIES),
    resource_estimate: {
      form: 'an estimate, as cost:5,tokens:200000,wall_time:30m',
      read: estimateIn,
    },
  },
  workspace_create: {
    budget: { form: AMOUNTS, read: budgetIn },
    priority: oneOf(WORKSPACE_PRIORITIES),
    visibility: {
      form: 'ids of workspaces whose record its agent may read, as ws_1,ws_2',
      read: said => said.split(',').map(each => each.trim()),
    },
  },
  envelope_delivery: {
    payload: { form: 'the text that arrives instead', read: content => ({ format: 'text', content }) },
  },
  integration: { strategy: oneOf(INTEGRATION_STRATEGIES) },
  conflict_resolution: {
    // 'escalate' asks a person; it is no answer of one.
    strategy: oneOf(RESOLUTION_STRATEGIES.filter(each => each !== 'escalate')),
    resolution: text('how it is settled; where two versions stand against each other, incoming or existing'),
  },
  workspace_abort: { reason: text('why the work is ended') },
}

/** `priority=…: normal, elevated, urgent` for each field. */
export function changeForms(type: GateType): string[] {
  return Object.entries(FIELDS[type]).map(([name, { form }]) => `${name}=…: ${form}`)
}

export function readChanges(
  type: GateType,
  changes: Readonly<Record<string, unknown>>,
): Result<Readonly<Record<string, unknown>>> {
  const fields = FIELDS[type]
  const read: Record<string, unknown> = {}
  for (const [name, said] of Object.entries(changes)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (!field) return notAllowed(`${name} cannot be changed here. What can: ${changeForms(type).join('; ')}.`)
    const value = typeof said === 'string' || typeof said === 'number' ? field.read(String(said).trim()) : said
    if (value === undefined) return notAllowed(`"${said}" is no value of ${name}. It takes ${field.form}.`)
    read[name] = value
  }
  return ok(read)
}

function notAllowed(message: string) {
  return refuse('invalid_argument', message, { details: { reason: 'modification_not_allowed' } })
}

const budgets = compile(BudgetSchema)

function budgetIn(said: string): unknown {
  const amounts = amountsIn(said)
  return budgets.is(amounts) ? workspaceBudget(limitsOf(amounts)) : undefined
}

function estimateIn(said: string): unknown {
  const { wall_time, ...rest } = amountsIn(said)
  if (wall_time === undefined) return rest
  const time = parseDuration(String(wall_time))
  return time === undefined ? undefined : { ...rest, wall_time: time }
}

/** `cost:5,tokens:200000`; an amount alone is money. */
function amountsIn(said: string): Readonly<Record<string, number | string>> {
  const alone = /^\$?(\d+(?:\.\d+)?)(?: ?(?:usd|dollars?|\$))?$/i.exec(said)
  if (alone) return { cost: Number(alone[1]) }
  const pairs = said.split(',').map(each => {
    const [name = '', amount = ''] = each.split(/[:=]/).map(part => part.trim())
    return [name, /^\d+(\.\d+)?$/.test(amount) ? Number(amount) : amount] as const
  })
  return Object.fromEntries(pairs)
}
