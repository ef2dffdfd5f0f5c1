// What waits for a person, in plain words: what is asked, what each answer does, and what happens without one.
import { formatTimestamp, type Ticks } from '@parley/core'
import type { GateView } from '../node/views.ts'
import { between, inWords } from './format.ts'
import type { Drawing } from './tasks.ts'
import { lines, oneLine, textLines, wrap } from './text.ts'

interface Meaning {
  /** On the key, and in the help. */
  readonly yes: readonly [label: string, help: string]
  readonly no: readonly [label: string, help: string]
  /** What a fallback does; the subject is `it`. */
  readonly passes: string
  readonly falls: string
}

const MEANINGS: Readonly<Record<GateView['type'], Meaning>> = {
  task_approval: {
    yes: ['start', 'the task starts'],
    no: ['cancel', 'the task is cancelled, and so are those that need it'],
    passes: 'starts by itself',
    falls: 'is cancelled',
  },
  workspace_create: {
    yes: ['allow', 'the agent starts'],
    no: ['refuse', 'the task is cancelled'],
    passes: 'starts by itself',
    falls: 'is cancelled',
  },
  envelope_delivery: {
    yes: ['deliver', 'the message arrives'],
    no: ['withhold', 'the message never arrives; work that waits for it to begin is ended'],
    passes: 'is delivered by itself',
    falls: 'is never delivered',
  },
  integration: {
    yes: ['merge', 'the work becomes part of the result'],
    no: ['reject', 'the work is not merged, and its task ends as failed'],
    passes: 'is merged by itself',
    falls: 'is rejected',
  },
  conflict_resolution: {
    yes: ['accept', 'the conflict is settled as proposed'],
    no: ['refuse', 'the coordinator proposes another way'],
    passes: 'is settled as proposed, by itself',
    falls: 'is settled in another way',
  },
  workspace_abort: {
    yes: ['end it', 'the work ends'],
    no: ['go on', 'the work continues'],
    passes: 'ends by itself',
    falls: 'goes on',
  },
  escalation: {
    yes: ['reply', 'the agent continues with your words'],
    no: ['end it', 'the work that asks is ended'],
    passes: 'is left to the agent',
    falls: 'ends the work that asks',
  },
}

export const meaningOf = ({ type }: GateView): Meaning => MEANINGS[type]

/** Whether a person judges work there: at its merge, where it conflicts, or what is left of it. */
export function judgesWork({ type, task, workspace }: GateView): boolean {
  return (type === 'integration' || type === 'conflict_resolution') && (workspace ?? task) !== undefined
}

/** `starts by itself in 9 min 56 s`; undefined if nothing ever happens without an answer. */
export function fallbackText(gate: GateView, now: Ticks): string | undefined {
  const { deadline, fallback, waits_for } = gate
  if (deadline === undefined) return undefined
  const { passes, falls } = meaningOf(gate)
  const does = fallback === 'reject' && waits_for === 'person' ? falls : passes
  // The coordinator, to whom it has fallen, approves.
  const left = waits_for === 'coordinator' ? 0 : (between(formatTimestamp(now), deadline, now) ?? 0)
  return left > 0 ? `${does} in ${inWords(left)}` : `${does} at any moment`
}

/** `Without an answer it starts by itself in 9 min 56 s.` `plan`: no task of its run has begun. */
export function untilText(gate: GateView, now: Ticks, plan = false): string {
  const without = fallbackText(gate, now)
  if (without !== undefined) return `Without an answer it ${without}.`
  if (gate.goes_on !== undefined) {
    const left = between(formatTimestamp(now), gate.goes_on, now) ?? 0
    return left > 0
      ? `Its agent waits another ${inWords(left)}, then it goes on without an answer.`
      : 'Its agent goes on without an answer at any moment.'
  }
  if (gate.remark) return 'Its agent goes on meanwhile; a reply reaches it as mail.'
  if (gate.type !== 'task_approval') return 'It waits until you answer.'
  return plan ? 'Nothing starts until you answer.' : 'It does not start until you answer.'
}

/** Never cut: the user must know what was asked. */
export function questionLines(
  { kind, task, question, remark }: GateView,
  { paint, width }: Drawing,
): readonly string[] {
  const who = kind === 'question' && task !== undefined ? `${oneLine(task)} ${remark ? 'says' : 'asks'}: ` : ''
  const asked = textLines(question)
  return (asked.length === 0 ? [''] : asked)
    .flatMap((line, index) => wrap(index === 0 ? `${who}${line}` : line, width))
    .map(line => paint('strong', line))
}

/** The readable part of what it is about: a prompt, a message, a proposal. */
export function subjectLines({ subject }: GateView, width: number): readonly string[] {
  const about = (subject ?? {}) as {
    readonly description?: unknown
    readonly payload?: { readonly content?: unknown }
    readonly proposal?: { readonly resolution?: unknown }
  }
  const found = [about.description, about.payload?.content, about.proposal?.resolution]
  return found
    .filter(text => typeof text === 'string')
    .filter(text => text.trim() !== '')
    .flatMap(text => lines(text).flatMap(line => wrap(line, Math.max(20, width - 2)).map(each => `  ${each}`)))
}
