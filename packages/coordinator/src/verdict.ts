// What a reviewer says: the last line that begins with one of three words decides, and what stands before and behind it is the feedback.
import { CONFLICT_TYPES, type ConflictType } from '@parley/trail/events'

export const VERDICTS = ['accept', 'revise', 'reject'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface Judgement {
  readonly verdict: Verdict
  readonly feedback: string
}

const LINE = /^[\s>*_#`-]*(ACCEPT(?:ED)?|REVISE|REJECT(?:ED)?)\b[\s*_`]*[:.–—-]?\s*(.*)$/i

/** Undefined where no line says it. */
export function readVerdict(text: string): Judgement | undefined {
  const lines = text.trimEnd().split('\n')
  for (let at = lines.length - 1; at >= 0; at--) {
    const match = LINE.exec(lines[at]!)
    if (!match) continue
    const word = match[1]!.toLowerCase()
    const verdict = VERDICTS.find(each => word.startsWith(each))!
    const before = lines.slice(0, at).join('\n').trim()
    const rest = [match[2], ...lines.slice(at + 1)]
      .join('\n')
      .replace(/[\s*_`]+$/, '')
      .trim()
    return { verdict, feedback: [before, rest].filter(part => part !== '').join('\n\n') }
  }
  return undefined
}

export interface FoundConflict {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

const CONFLICT = /^[\s>*_#`-]*CONFLICT\s+(\w+)\s*:\s*(.+)$/gim

/** What an integrator found against a merge: lines `CONFLICT type: what`. A type that there is not is taken for a contradiction. */
export function readConflicts(text: string): FoundConflict[] {
  return [...text.matchAll(CONFLICT)].map(([, type = '', description = '']) => ({
    type: CONFLICT_TYPES.find(each => each === type.toLowerCase()) ?? 'semantic_contradiction',
    resources: [],
    description: description.trim(),
  }))
}

/** Why an agent that judged what failed work left found nothing in it that can be used; undefined if it did. */
export function readUnusable(text: string): string | undefined {
  return /^[\s>*_#`-]*UNUSABLE\b:?[ \t]*(.*)$/im.exec(text)?.[1]
}
