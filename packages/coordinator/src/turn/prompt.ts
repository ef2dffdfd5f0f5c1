// What an agent is told for a turn: its task, and the pieces of context that it should read, in that order.
import type { AgentReach, TurnContextPart } from '@parley/core'
import type { WorkspaceMail } from '../contract.ts'
import type { RunFacts, WorkFacts } from '../run/facts.ts'
import type { PlannedTask } from '../team/team.ts'

/** What a turn is told, in words that fit what its agent has. */
export type Brief = (reach: AgentReach) => Told

export interface Told {
  readonly prompt: string
  readonly context: readonly TurnContextPart[]
}

interface ForWork {
  readonly mail: readonly WorkspaceMail[]
  readonly question: string | undefined
  /** What people told the whole run. */
  readonly guidance: readonly { readonly by: string; readonly text: string }[]
  readonly predecessors: string
}

export function workPrompt(
  run: RunFacts,
  task: PlannedTask,
  facts: WorkFacts,
  { mail, question, guidance, predecessors }: ForWork,
  reach: AgentReach,
): Told {
  // What was said before all this comes before everything else.
  const context: TurnContextPart[] = [...(run.context ?? [])]
  if (run.intent.trim() !== task.prompt.trim())
    context.push({ kind: 'intent', title: 'What the whole run is for', text: run.intent })
  for (const { by, text } of guidance)
    context.push({ kind: 'envelope', title: `Guidance from ${by} for everybody`, text, news: true })
  for (const { title, text } of facts.results) context.push({ kind: 'checkpoint', title: `Result of: ${title}`, text })
  // Otherwise it would look for what it is told about.
  const fresh = reach.folder && facts.start === undefined ? '; your folder is fresh and does not have its work' : ''
  for (const text of facts.feedback)
    context.push({ kind: 'feedback', title: `An earlier attempt was not accepted${fresh}`, text })
  if (predecessors !== '')
    context.push({ kind: 'checkpoint', title: 'You take over from another agent', text: predecessors })
  if (question !== undefined) context.push({ kind: 'question', title: 'What you asked', text: question, news: true })
  for (const { from, text } of mail) context.push({ kind: 'envelope', title: `Message from ${from}`, text, news: true })
  const place = [...(reach.folder ? [placeText(task)] : []), ...(reach.verbs ? [VERBS_TEXT[reach.verbs]] : [])]
  if (place.length > 0) context.push({ kind: 'workspace', title: 'Where you work', text: place.join(' ') })
  return { prompt: task.prompt, context }
}

/** Only what can be called: an agent that is promised more tries it in vain. */
const VERBS_TEXT: { readonly [Way in NonNullable<AgentReach['verbs']>]: string } = {
  shell:
    '`parley ws block "question"` says that you need an answer first; end your turn after it. `parley ws ask "question"` waits a while for one, `parley ws checkpoint "what was done"` saves what you have, `parley ws inbox` reads mail.',
  tools:
    'The MCP server `parley` has tools for you: `block` says that you need an answer first; end your turn after it. `ask` waits a while for one, `checkpoint` saves what you have, `inbox` reads mail.',
}

function placeText({ paths, symlinks }: PlannedTask): string {
  const limit =
    paths === undefined
      ? 'You may change any file in it.'
      : paths.length === 0
        ? 'You may not change any file in it.'
        : `You may change only: ${paths.join(', ')}. Any other change is put back.`
  return `Your working folder is a copy of the project of your own. ${limit}${symlinks ? '' : ' A symbolic link that leads out of it is put back.'} What it holds when you end your turn is your result.`
}

export function reviewPrompt(
  run: RunFacts,
  task: PlannedTask,
  author: string,
  work: { readonly text: string; readonly diff: string; readonly unjudged?: boolean },
  reach: AgentReach,
): Told {
  const ask = task.review?.prompt ?? 'Is this work right and complete?'
  const prompt = `${ask}

Judge the work below, which was done for the task "${task.title}".${reach.folder ? ' The folder holds the project with that work in it. Change nothing.' : ''}
${reach.verbs ? VERDICT_TEXT[reach.verbs] : 'End'} with one line: ACCEPT, or REVISE: what must be better, or REJECT: why it cannot be used.`
  const context: TurnContextPart[] = [
    { kind: 'intent', title: 'What the whole run is for', text: run.intent },
    { kind: 'directive', title: 'The task', text: task.prompt },
    { kind: 'checkpoint', title: `What ${author} says about it`, text: work.text },
    { kind: 'diff', title: 'What was changed', text: work.diff },
    { kind: 'feedback', title: 'An earlier review was not accepted', text: work.unjudged ? NO_VERDICT : '' },
  ]
  return { prompt, context: context.filter(({ text }) => text.trim() !== '') }
}

const NO_VERDICT = 'It gave no verdict, so nothing could be decided. Without one from you the work is turned down.'

const VERDICT_TEXT: typeof VERBS_TEXT = {
  shell:
    'Give your verdict with `parley ws verdict accept`, or `parley ws verdict revise "finding" "finding"`. If that does not work, end',
  tools:
    'Give your verdict with the tool `verdict` of the MCP server `parley`, each finding by itself. If there is no such tool, end',
}

/** Both versions are in the folder already, joined where they fit. `failed`: why the work failed, if it is salvaged. */
export function mergePrompt(
  run: RunFacts,
  task: PlannedTask,
  conflicts: readonly string[],
  diff: string,
  failed?: string,
): Told {
  const { merge, salvage } = task
  const ask =
    failed === undefined
      ? (merge.prompt ?? 'Keep what both versions are for.')
      : ((salvage?.way === 'agent' ? salvage.prompt : undefined) ?? 'Keep what can be used of it.')
  const marked =
    conflicts.length === 0
      ? 'The two versions fit together line by line; see whether they do in meaning.'
      : `In these files both versions stand between conflict marks: ${conflicts.join(', ')}. Leave no mark behind.`
  const rest =
    failed === undefined
      ? ''
      : `
The work was never finished: ${failed}
Trust nothing of it that you have not looked at. If none of it can be used, end with one line: UNUSABLE: why`
  const prompt = `${ask}

Your working folder holds the project with everything that was merged before, and the work on the task "${task.title}" laid over it. ${marked}
Make of it what the project should be, and change nothing else.
If the two contradict each other so that a person or the author must decide, end with one line for each contradiction:
CONFLICT semantic_contradiction: what contradicts what
(or dependency_violation, or constraint_breach).${rest}`
  const context: TurnContextPart[] = [
    { kind: 'intent', title: 'What the whole run is for', text: run.intent },
    { kind: 'directive', title: 'The task', text: task.prompt },
    { kind: 'diff', title: 'What the work changed, seen from where it started', text: diff },
  ]
  return { prompt, context: context.filter(({ text }) => text.trim() !== '') }
}
