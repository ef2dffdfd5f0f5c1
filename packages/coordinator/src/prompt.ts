// What an agent is told for a turn: its task, and the pieces of context that it should read, in that order.
import type { TurnContextPart } from '@parley/core'
import type { WorkspaceMail } from './contract.ts'
import type { RunFacts, WorkFacts } from './facts.ts'
import type { PlannedTask } from './team/team.ts'

export interface Told {
  readonly prompt: string
  readonly context: readonly TurnContextPart[]
}

export function workPrompt(
  run: RunFacts,
  task: PlannedTask,
  facts: WorkFacts,
  { mail, question }: { readonly mail: readonly WorkspaceMail[]; readonly question?: string | undefined },
): Told {
  const context: TurnContextPart[] = []
  if (run.intent.trim() !== task.prompt.trim())
    context.push({ kind: 'intent', title: 'What the whole run is for', text: run.intent })
  for (const { title, text } of facts.results)
    context.push({ kind: 'checkpoint', title: `Result of: ${title}`, text })
  for (const text of facts.feedback)
    context.push({ kind: 'feedback', title: 'An earlier attempt was not accepted', text })
  if (question !== undefined) context.push({ kind: 'question', title: 'What you asked', text: question })
  for (const { from, text } of mail) context.push({ kind: 'envelope', title: `Message from ${from}`, text })
  context.push({ kind: 'workspace', title: 'Where you work', text: placeText(task) })
  return { prompt: task.prompt, context }
}

function placeText({ paths }: PlannedTask): string {
  const limit =
    paths === undefined
      ? 'You may change any file in it.'
      : paths.length === 0
        ? 'You may not change any file in it.'
        : `You may change only: ${paths.join(', ')}. Any other change is put back.`
  return `Your working folder is a copy of the project of your own. ${limit} Finish by exiting; \`parley ws block "question"\` says that you need an answer first.`
}

export function reviewPrompt(
  run: RunFacts,
  task: PlannedTask,
  author: string,
  work: { readonly text: string; readonly diff: string },
): Told {
  const ask = task.review?.prompt ?? 'Is this work right and complete?'
  const prompt = `${ask}

Judge the work below, which was done for the task "${task.title}". The folder holds the project with that work in it. Change nothing.
End with one line: ACCEPT, or REVISE: what must be better, or REJECT: why it cannot be used.`
  const context: TurnContextPart[] = [
    { kind: 'intent', title: 'What the whole run is for', text: run.intent },
    { kind: 'directive', title: 'The task', text: task.prompt },
    { kind: 'checkpoint', title: `What ${author} says about it`, text: work.text },
    { kind: 'diff', title: 'What was changed', text: work.diff },
  ]
  return { prompt, context: context.filter(({ text }) => text.trim() !== '') }
}
