// `parley doctor`: everything that can be wrong, and how to fix it. It writes one file to the profile and removes it.

import { command } from '../../command.ts'
import type { CheckState, Finding, Probes } from '../../doctor/check.ts'
import { systemProbes } from '../../doctor/probes.ts'
import { EXIT } from '../../exit.ts'
import { refuseSlip } from '../../node/no-node.ts'
import { drawing, print } from '../../output.ts'
import { plural } from '../../render/format.ts'
import type { Tone } from '../../render/paint.ts'
import type { Drawing } from '../../render/tasks.ts'
import { lines, widthOf, wrap } from '../../render/text.ts'

export const doctorWith = (probes: Probes) =>
  command({
    about:
      'Each check is ok, a warning or a problem. The exit code is 1 if there is a problem. Nothing is started or changed; to test whether the disk is writable, one small file is created in the profile and removed. With --live, each agent takes a real turn, which costs what a word costs and is recorded as a run.',
    flags: { live: { summary: 'Let each agent answer one word: does it really work here?' } },
    examples: [
      ['parley doctor', 'in the folder of a project, to check its team file too'],
      ['parley doctor --live', 'before the first real work, and when an agent stops working'],
      ['parley doctor --json', 'for a program'],
    ],
    async run(context, { flags }) {
      await refuseSlip(context.global.profile, context.env)
      const { examine } = await import('../../doctor/examine.ts')
      const checks = await examine(context, probes, flags.live)
      const problems = checks.filter(({ state }) => state === 'problem').length
      const warnings = checks.filter(({ state }) => state === 'warning').length
      const { paint } = context.terminal
      print(context, { problems, warnings, checks }, () => [
        ...doctorLines(checks, drawing(context)),
        '',
        verdict(problems, warnings, paint),
      ])
      return problems > 0 ? EXIT.failed : EXIT.done
    },
  })

export default doctorWith(systemProbes)

const TONES: Readonly<Record<CheckState, Tone>> = { ok: 'good', warning: 'warning', problem: 'bad' }
const STATE_WIDTH = 9

function doctorLines(checks: readonly Finding[], { width, paint }: Drawing): readonly string[] {
  const name = Math.max(...checks.map(({ check }) => widthOf(check)))
  const indent = ' '.repeat(STATE_WIDTH)
  const room = Math.max(20, width - STATE_WIDTH)
  return checks.flatMap(({ check, state, text, remedy }) => {
    const [first = '', ...rest] = wrap(`${check.padEnd(name)}  ${lines(text).join(' ')}`, room)
    return [
      `${paint(TONES[state], state.padEnd(STATE_WIDTH - 1))} ${first}`,
      ...rest.map(line => indent + line),
      ...(remedy ? wrap(`→ ${remedy}`, room).map(line => indent + line) : []),
    ]
  })
}

function verdict(problems: number, warnings: number, paint: Drawing['paint']): string {
  if (problems > 0) return paint('bad', `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`)
  if (warnings > 0) return paint('warning', `No problems, ${plural(warnings, 'warning')}.`)
  return paint('good', 'Everything is fine.')
}
