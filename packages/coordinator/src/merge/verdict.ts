// Reads verdicts: the last line that begins with one of three words decides, the rest is feedback. Agents write these
// texts, so every expression works on one line in linear time.
import { CONFLICT_TYPES, type ConflictType } from '@parley/trail/events'

export const VERDICTS = ['accept', 'revise', 'reject'] as const
export type Verdict = (typeof VERDICTS)[number]

export interface Judgement {
  readonly verdict: Verdict
  readonly feedback: string
}

const LINE = /^[\s>*_#`-]*(ACCEPT(?:ED)?|REVISE|REJECT(?:ED)?)\b[\s*_`]*[:.–—-]?\s*(.*)$/is

/** Undefined where no line says it. */
export function readVerdict(text: string): Judgement | undefined {
  const lines = text.trimEnd().split('\n')
  for (let at = lines.length - 1; at >= 0; at--) {
    const match = LINE.exec(lines[at]!)
    if (!match) continue
    const word = match[1]!.toLowerCase()
    const verdict = VERDICTS.find(each => word.startsWith(each))!
    const before = lines.slice(0, at).join('\n').trim()
    const rest = withoutMarks([match[2], ...lines.slice(at + 1)].join('\n')).trim()
    return { verdict, feedback: [before, rest].filter(part => part !== '').join('\n\n') }
  }
  return undefined
}

/** An expression for this would begin anew at each mark of a long row. */
function withoutMarks(text: string): string {
  let end = text.length
  while (end > 0 && /[\s*_`]/.test(text[end - 1]!)) end--
  return text.slice(0, end)
}

const LINE_END = /[\n\r\u2028\u2029]/

interface FoundConflict {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

const CONFLICT = /^[\s>*_#`-]*CONFLICT\s+(\w+)\s*:\s*(\S.*)$/i

/** What an integrator found: lines `CONFLICT type: what`. An unknown type counts as a contradiction. */
export function readConflicts(text: string): FoundConflict[] {
  return text.split(LINE_END).flatMap(line => {
    const [, type, description] = CONFLICT.exec(line) ?? []
    if (type === undefined || description === undefined) return []
    const known = CONFLICT_TYPES.find(each => each === type.toLowerCase())
    return [{ type: known ?? 'semantic_contradiction', resources: [], description: description.trim() }]
  })
}

const UNUSABLE = /^[\s>*_#`-]*UNUSABLE\b:?[ \t]*(.*)$/i

/** Why an agent that judged what failed work left found nothing in it that can be used; undefined if it did. */
export function readUnusable(text: string): string | undefined {
  for (const line of text.split(LINE_END)) {
    const [, reason] = UNUSABLE.exec(line) ?? []
    if (reason !== undefined) return reason
  }
  return undefined
}
