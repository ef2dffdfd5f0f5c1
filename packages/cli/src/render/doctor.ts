// The findings of `parley doctor`: one line each, the remedy below what needs one, and a verdict.
import type { CheckState, Finding } from '../doctor/check.ts'
import { plural } from './format.ts'
import type { Tone } from './paint.ts'
import type { Drawing } from './tasks.ts'
import { lines, widthOf, wrap } from './text.ts'

const TONES: Readonly<Record<CheckState, Tone>> = { ok: 'good', warning: 'warning', problem: 'bad' }
const STATE_WIDTH = 9

export function doctorLines(checks: readonly Finding[], { width, paint }: Drawing): readonly string[] {
  const name = Math.max(...checks.map(({ check }) => widthOf(check)))
  const indent = ' '.repeat(STATE_WIDTH)
  const room = Math.max(20, width - STATE_WIDTH)
  const found = checks.flatMap(({ check, state, text, remedy }) => {
    const [first = '', ...rest] = wrap(`${check.padEnd(name)}  ${lines(text).join(' ')}`, room)
    return [
      `${paint(TONES[state], state.padEnd(STATE_WIDTH - 1))} ${first}`,
      ...rest.map(line => indent + line),
      ...(remedy ? wrap(`→ ${remedy}`, room).map(line => indent + line) : []),
    ]
  })
  return [...found, '', verdict(checks, paint)]
}

function verdict(checks: readonly Finding[], paint: Drawing['paint']): string {
  const of = (state: CheckState) => checks.filter(each => each.state === state).length
  const problems = of('problem')
  const warnings = of('warning')
  if (problems > 0) return paint('bad', `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`)
  if (warnings > 0) return paint('warning', `No problems, ${plural(warnings, 'warning')}.`)
  return paint('good', 'All is well.')
}
