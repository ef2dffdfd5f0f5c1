// One task's agents line by line: steps that begin and end, and what is said and used in between.
import type { LogItem, StepView } from '../node/views.ts'
import { between, duration, spend } from './format.ts'
import { OUTCOME_TONES } from './steps.ts'
import type { Drawing } from './tasks.ts'
import { lines, oneLine, wrap } from './text.ts'

const INDENT = '  '
const STATES = { started: '›', finished: '✓', failed: '✗' } as const

export function logLines(item: LogItem, started: string, drawing: Drawing): readonly string[] {
  const { paint, width } = drawing
  switch (item.type) {
    case 'step':
      return logStepLines(item.step, started, drawing)
    case 'text':
      return indented(item.text, width)
    case 'thinking':
    case 'notice':
      return indented(item.text, width).map(line => paint('quiet', line))
    case 'tool': {
      const text = `${STATES[item.state]} ${item.name}${item.summary ? ` ${item.summary}` : ''}`
      const tone = item.state === 'failed' ? 'bad' : 'active'
      return wrap(oneLine(text), Math.max(1, width - INDENT.length)).map(line => `${INDENT}${paint(tone, line)}`)
    }
    case 'missed':
      return [paint('quiet', `${INDENT}… ${item.count} more were left out`)]
  }
}

/** Its beginning, or its end with all that was said. */
export function logStepLines(step: StepView, started: string, { paint, width, now }: Drawing): readonly string[] {
  const at = `+${duration(between(started, step.started, now) ?? 0)}`
  const what = `${step.kind === 'work' ? `work ${step.attempt}` : step.kind} by ${oneLine(step.agent)}`
  if (step.ended === undefined) return [`${paint('quiet', at)} ${what} ${paint('active', step.outcome)}`]
  const took = duration(between(step.started, step.ended, now) ?? 0)
  const cost = [took, spend(step.usage)].filter(Boolean).join(' · ')
  return [
    `${paint('quiet', at)} ${what} ${paint(OUTCOME_TONES[step.outcome], step.outcome)} ${paint('quiet', cost)}`,
    ...indented(step.text ?? '', width),
  ]
}

export function indented(text: string, width: number): readonly string[] {
  const room = Math.max(1, width - INDENT.length)
  return (text.trim() === '' ? [] : lines(text.trimEnd())).flatMap(line =>
    line === '' ? [''] : wrap(line, room).map(each => `${INDENT}${each}`),
  )
}
