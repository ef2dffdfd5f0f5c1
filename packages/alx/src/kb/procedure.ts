// Procedures: what a team does for an intent, as a Knowledge Block, and what comes of it. Plain data on both sides; the
// one that runs teams says what a team can do (`TeamOutline`). A procedure names tasks and agents of a configured
// team and gives its tasks words; nothing in it is ever a command.
import { artifactHashFromPayload, type KbEnvelope, type Result, type SolveIntentShape } from '@alx/protocol'
import { compile, type Static, Type } from '@parley/core'
import { kbLimits } from './limits.ts'
import { refused } from './refusals.ts'

const name = Type.String({ minLength: 1, maxLength: kbLimits.stepNameLength })
/** Closed: a member that nobody here knows may mean something to somebody, so such a step is not carried out. */
const closed = { additionalProperties: false }

const ProcedureStep = Type.Object(
  {
    task: name,
    title: Type.String({ minLength: 1, maxLength: kbLimits.stepTitleLength }),
    prompt: Type.Optional(Type.String({ maxLength: kbLimits.stepPromptLength })),
    agent: Type.Optional(name),
    needs: Type.Optional(Type.Array(name, { maxItems: kbLimits.procedureSteps })),
    /** Left out where the team lacks its task or its agent. */
    optional: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type ProcedureStep = Readonly<Static<typeof ProcedureStep>>

const Procedure = Type.Object(
  {
    type: Type.Literal('procedure'),
    intent: Type.Object({ verb: Type.String(), target: Type.String() }, closed),
    team: name,
    steps: Type.Array(ProcedureStep, { minItems: 1, maxItems: kbLimits.procedureSteps }),
  },
  closed,
)
export type Procedure = Readonly<Omit<Static<typeof Procedure>, 'steps'>> & { readonly steps: readonly ProcedureStep[] }
const procedure = compile(Procedure)

/**
 * What a configured team offers a procedure: its tasks in plan order, and its agents. Prompts are those of the team
 * file with the place for the intent still open, so that a procedure can be carried out for another intent.
 */
export interface TeamOutline {
  readonly team: string
  readonly agents: readonly string[]
  readonly tasks: readonly OutlinedTask[]
  /** Working time of a run, if the team has a limit. */
  readonly timeoutMs?: number
}

export interface OutlinedTask {
  readonly id: string
  readonly title: string
  readonly prompt?: string
  /** Undefined: a team inside the team does it, and nobody can take its place. */
  readonly agent?: string
  readonly needs: readonly string[]
  /** A person approves it before it begins, whatever a procedure says. */
  readonly approve?: boolean
}

/** A step as it is to be done, in an order in which each comes behind those that it needs. */
export interface FittedStep {
  readonly task: string
  readonly title: string
  readonly needs: readonly string[]
  /** Instead of the team's own. */
  readonly prompt?: string
  readonly agent?: string
  /** Why it is left out; it is never given to anybody. */
  readonly skipped?: string
}

/** The team's own plan as the block that is executed where no other fits: the same for the same plan and intent. */
export function procedureEnvelope({ verb, target, domain }: SolveIntentShape, outline: TeamOutline): KbEnvelope {
  const steps = outline.tasks.map(({ id, title, prompt, agent, needs }) => ({
    task: id,
    title: title.slice(0, kbLimits.stepTitleLength).toWellFormed() || id,
    ...(prompt !== undefined && prompt !== '' && { prompt: prompt.slice(0, kbLimits.stepPromptLength).toWellFormed() }),
    ...(agent !== undefined && { agent }),
    ...(needs.length > 0 && { needs: [...needs] }),
  }))
  const payload = { type: 'procedure', intent: { verb, target }, team: outline.team, steps }
  return { type: 'procedure', domain, sources: [], tier: 'restricted', payload }
}

export interface Outcome {
  readonly domain: string
  /** What was asked, and what the run answered. */
  readonly question: string
  readonly answer: string
  /** The block that was executed. */
  readonly procedure: { readonly kbHash: string; readonly title: string }
  /** Blocks that the agents were told about, by hash. */
  readonly told?: readonly string[]
}

/** What a run made: deterministic, so that registering it once more after a crash is registering the same block. */
export function synthesisEnvelope({ domain, question, answer, procedure, told = [] }: Outcome): KbEnvelope {
  const { kbHash, title } = procedure
  const cited = told.filter(hash => hash !== kbHash)
  const payload = {
    type: 'synthesis',
    question: question.slice(0, kbLimits.questionLength).toWellFormed(),
    answer: answer.slice(0, kbLimits.answerLength).toWellFormed(),
    citations: { ...Object.fromEntries(cited.map(hash => [hash, 'told'])), [kbHash]: title.toWellFormed() },
  }
  const sources = [...new Set([kbHash, ...cited])].sort()
  return {
    type: 'synthesis',
    domain,
    sources,
    tier: 'restricted',
    payload,
    artifactHash: artifactHashFromPayload(payload),
    derivation: {
      type: 'transform',
      inputs: [{ kbId: kbHash, selectors: ['payload.steps'] }],
      recipe: { strategy: 'execute' },
    },
  }
}

export function intentOfProcedure(
  payload: KbEnvelope['payload'],
): Pick<SolveIntentShape, 'verb' | 'target'> | undefined {
  const { intent } = payload as { readonly intent?: { readonly verb?: unknown; readonly target?: unknown } }
  const { verb, target } = intent ?? {}
  return typeof verb === 'string' && typeof target === 'string' ? { verb, target } : undefined
}

/** Refuses with SCHEMA_INVALID what is no procedure that can be carried out here; anything may be registered. */
export function parseProcedure(payload: unknown): Result<Procedure> {
  const parsed = procedure.check(payload)
  if (parsed.ok) return parsed
  return refused('SCHEMA_INVALID', `this procedure cannot be carried out: ${parsed.error.message}`)
}

/** The steps of a procedure on a team. Refuses with SCHEMA_INVALID, and says why, what does not fit the team. */
export function fitProcedure({ team, steps }: Procedure, outline: TeamOutline): Result<readonly FittedStep[]> {
  if (team !== outline.team) return unfit(`it is for the team ${team}, and this one is ${outline.team}`)
  const tasks = new Map(outline.tasks.map(task => [task.id, task]))
  const fitted = new Map<string, FittedStep>()
  for (const step of steps) {
    const { task, title } = step
    if (fitted.has(task)) return unfit(`it has the task ${task} twice`)
    const stranger = step.needs?.find(need => !fitted.has(need))
    if (stranger !== undefined) return unfit(`the step ${task} needs ${stranger}, which is no step before it`)
    const planned = tasks.get(task)
    const missing = missingFor(step, planned, outline)
    if (missing !== undefined && step.optional !== true) return unfit(missing)
    if (!planned || missing !== undefined) fitted.set(task, { task, title, needs: [], skipped: missing! })
    else fitted.set(task, stepOf(step, planned, fitted))
  }
  const all = [...fitted.values()]
  if (all.every(({ skipped }) => skipped !== undefined)) return unfit('the team can do none of its steps')
  return { ok: true, value: all }
}

/** What of a step the team lacks. */
function missingFor({ task, agent }: ProcedureStep, planned: OutlinedTask | undefined, { team, agents }: TeamOutline) {
  if (!planned) return `the team ${team} has no task ${task}`
  if (agent === undefined || agent === planned.agent) return undefined
  if (planned.agent === undefined) return `the task ${task} is a team's, and no agent can do it instead`
  return agents.includes(agent) ? undefined : `the team ${team} has no agent ${agent}`
}

/** A need that is left out is no need: its step said that the work can be done without it. */
function stepOf(step: ProcedureStep, planned: OutlinedTask, before: ReadonlyMap<string, FittedStep>): FittedStep {
  const { task, title, prompt, agent } = step
  const isDone = (need: string) => before.get(need)?.skipped === undefined && before.has(need)
  return {
    task,
    title,
    needs: (step.needs ?? planned.needs).filter(isDone),
    ...(prompt !== undefined && { prompt }),
    ...(agent !== undefined && { agent }),
  }
}

function unfit(why: string) {
  return refused('SCHEMA_INVALID', `the procedure does not fit: ${why}`)
}
