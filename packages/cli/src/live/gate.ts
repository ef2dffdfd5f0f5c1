// One thing that waits, as a question with keys, and how its answer reaches the node.
import type { Input, NodeClient } from '../node/client.ts'
import type { GateView, WorkView } from '../node/views.ts'
import type { Drawing } from '../render/tasks.ts'
import { labelled, oneLine, wrap } from '../render/text.ts'
import { meaningOf, questionLines, subjectLines, untilText } from '../render/waiting.ts'
import { patchLines, workLines } from '../render/work.ts'
import type { GateWork } from './gate-work.ts'
import { type Option, Prompt } from './prompt.ts'

/** `changes`: the fields that `modify` changes. */
export type Decision = Omit<Input<'/gates/respond'>, 'gate' | 'passphrase'>
export type Reply = Omit<Input<'/escalations/respond'>, 'question' | 'passphrase'>
export type GateChoice = Decision | Reply

export type GateAnswer =
  | { readonly kind: 'answer'; readonly gates: readonly GateView[]; readonly choice: GateChoice }
  | { readonly kind: 'details' }
  | { readonly kind: 'later' }

export async function answerGate(api: NodeClient, { id }: GateView, choice: GateChoice): Promise<void> {
  if ('answer' in choice) await api.escalations.respond({ question: id, ...choice })
  else await api.gates.respond({ gate: id, ...choice })
}

/** `alike`: everything in its run that waits for the same decision, itself included; `newest`: as it is now. */
export function gatePrompt(
  gate: GateView,
  alike: () => readonly GateView[],
  newest: () => GateView,
  work: GateWork,
): Prompt<GateAnswer> {
  const about = (drawing: Drawing) => {
    const seen = work()
    const question = questionLines(newest(), drawing)
    const until = untilLines(newest(), drawing)
    // Work may be long: what happens without an answer stays in sight.
    if (seen) return [...question, ...until, ...workLines(seen, drawing)]
    return [...question, ...subjectLines(gate, drawing.width), ...until]
  }
  return new Prompt(about, () => (gate.kind === 'question' ? replies(gate) : verdicts(gate, alike())))
}

const NONE_STARTS = 'None of them starts until you answer.'

/** The tasks of a plan that wait together: one answer for all of them. */
export function planPrompt(gates: () => readonly GateView[]): Prompt<GateAnswer> {
  const answer = (choice: Decision): GateAnswer => ({ kind: 'answer', gates: gates(), choice })
  const about = (drawing: Drawing) => {
    const all = gates()
    const [first] = all
    return [
      ...wrap(plansQuestion(all), drawing.width).map(line => drawing.paint('strong', line)),
      ...all.flatMap(({ question }) => wrap(`  ${oneLine(question)}`, drawing.width)),
      ...(first?.deadline === undefined ? [NONE_STARTS] : untilLines(first, drawing)),
    ]
  }
  return new Prompt(about, () => {
    const count = gates().length
    return [
      {
        key: 'y',
        label: `start all ${count}`,
        help: 'all these tasks are approved',
        gives: { answer: answer({ decision: 'approve' }) },
      },
      {
        key: 'n',
        label: `cancel all ${count}`,
        help: 'all these tasks are cancelled, and so are those that need them',
        gives: {
          asks: 'Why? It is recorded. Empty: no reason',
          answers: reason => ({ answer: answer({ decision: 'reject', ...(reason && { reason }) }) }),
        },
      },
      { ...SHOW, help: 'shows each with its id: `parley approve` and `reject` answer one alone' },
      LATER,
    ]
  })
}

/** `May these 3 tasks start? Tidy the house` */
export function plansQuestion(gates: readonly GateView[]): string {
  const intent = gates[0]?.intent
  return `May these ${gates.length} tasks start?${intent === undefined ? '' : ` ${oneLine(intent)}`}`
}

export function untilLines(gate: GateView, { paint, width, now }: Drawing, plan = false): readonly string[] {
  return wrap(untilText(gate, now, plan), width).map(line => paint('warning', line))
}

const SHOW: Option<GateAnswer> = {
  key: 'd',
  label: 'details',
  help: 'shows everything about it, with its id',
  gives: { answer: { kind: 'details' } },
}
const LATER: Option<GateAnswer> = {
  key: 'l',
  label: 'later',
  help: 'leaves it in `parley inbox`',
  gives: { answer: { kind: 'later' } },
}

function verdicts(gate: GateView, alike: readonly GateView[]): readonly Option<GateAnswer>[] {
  const answer = (choice: GateChoice, gates: readonly GateView[] = [gate]): GateAnswer => ({
    kind: 'answer',
    gates,
    choice,
  })
  const { yes, no } = meaningOf(gate)
  const together: Option<GateAnswer> = {
    key: 'a',
    label: `${yes[0]} all ${alike.length}`,
    help: `the same for all ${alike.length} that wait for this now`,
    gives: { answer: answer({ decision: 'approve' }, alike) },
  }
  const change: Option<GateAnswer> = {
    key: 'm',
    label: 'modify',
    help: `approves it with a change: ${gate.changes.join(', ')}`,
    gives: {
      asks: ['FIELD=VALUE, one of', ...(gate.change_forms ?? gate.changes)],
      answers: text => {
        const changes = changesIn(text)
        if (!changes) return { refused: `A change is a field, = and a value, like ${gate.changes[0]}=…` }
        return { answer: answer({ decision: 'modify', changes }) }
      },
    },
  }
  // Work that has failed, and is offered all the same, is not done again.
  const ends = gate.type === 'integration' && gate.changes.length > 0
  const back: Option<GateAnswer> = {
    key: 's',
    label: 'send back',
    help: 'not merged; the task is done once more, and its agent reads your comment',
    gives: {
      asks: 'What should be different? It is recorded, and the agent reads it',
      answers: reason =>
        reason === ''
          ? { refused: 'The agent needs to know what should be different; Esc goes back.' }
          : { answer: answer({ decision: 'reject', reason, again: true }) },
    },
  }
  return [
    { key: 'y', label: yes[0], help: yes[1], gives: { answer: answer({ decision: 'approve' }) } },
    {
      key: 'n',
      label: no[0],
      help: no[1],
      gives: {
        asks: `Why? It is recorded${ends ? '; s sends the work back instead' : ', and agents may read it'}. Empty: no reason`,
        answers: reason => ({ answer: answer({ decision: 'reject', ...(reason && { reason }) }) }),
      },
    },
    ...(ends ? [back] : []),
    ...(alike.length > 1 ? [together] : []),
    ...(gate.changes.length > 0 ? [change] : []),
    SHOW,
    LATER,
  ]
}

const EMPTY = 'A reply needs words; Esc goes back.'

function replies(gate: GateView): readonly Option<GateAnswer>[] {
  const answer = (choice: Reply): GateAnswer => ({ kind: 'answer', gates: [gate], choice })
  return [
    {
      key: 'r',
      label: 'reply',
      help: 'the agent continues with your words',
      gives: {
        asks: 'Your reply',
        answers: text => (text === '' ? { refused: EMPTY } : { answer: answer({ answer: 'envelope', text }) }),
      },
    },
    {
      key: 'o',
      label: 'its own choice',
      help: 'the agent decides by itself, and says what it assumed',
      gives: { answer: answer({ answer: 'delegate' }) },
    },
    { key: 'x', label: 'end it', help: 'ends the work that asks', gives: { answer: answer({ answer: 'abort' }) } },
    SHOW,
    LATER,
  ]
}

function changesIn(text: string): Record<string, unknown> | undefined {
  const at = text.indexOf('=')
  if (at <= 0) return undefined
  const [field, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
  try {
    return { [field]: JSON.parse(value) }
  } catch {
    return { [field]: value }
  }
}

/** Everything about it in words: what there was no room for, and its ids, to answer it from elsewhere. */
export function gateDetails(
  gate: GateView,
  short: (id: string) => string,
  drawing: Drawing,
  work: WorkView | undefined,
): readonly string[] {
  const id = short(gate.id)
  const how = gate.kind === 'gate' ? `parley approve ${id}, parley reject ${id}` : `parley reply ${id} "…"`
  const facts: readonly (readonly [string, string])[] = [
    ['asked', gate.question],
    ['id', gate.id],
    ['run', gate.run],
    ...(gate.task === undefined ? [] : [['task', gate.task] as const]),
    ['for', oneLine(gate.addressee)],
    ...(gate.facts ?? []).map(({ label, text }) => [label, text] as const),
    ['answer', `${how}; --json of \`parley gates\` has all of it`],
  ]
  const about = work ? [...workLines(work, drawing, true), '', ...patchLines(work.patch ?? '', drawing.paint)] : []
  return ['', ...labelled(facts, drawing.width, drawing.paint), ...about, '']
}
