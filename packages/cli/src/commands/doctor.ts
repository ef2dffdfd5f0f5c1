// `parley doctor`: everything that can be wrong, and how to mend it. It starts nothing and changes nothing, but for a file in the profile's
// folder that it writes and removes at once.
import { command } from '../command.ts'
import type { Probes } from '../doctor/check.ts'
import { systemProbes } from '../doctor/probes.ts'
import { EXIT } from '../exit.ts'
import { drawing, print } from '../output.ts'
import { doctorLines } from '../render/doctor.ts'

export const doctorWith = (probes: Probes) =>
  command({
    name: 'doctor',
    summary: 'Check everything that can be wrong, and say how to mend it',
    about:
      'Each check is ok, a warning or a problem. Exit code 1 where there is a problem. It starts nothing and changes nothing; to see whether the disk takes writes, it makes and removes one small file in the profile.',
    args: [],
    flags: {},
    examples: [
      ['parley doctor', 'in the folder of a project, to check its team file too'],
      ['parley doctor --json', 'for a program'],
    ],
    async run(context) {
      const { examine } = await import('../doctor/examine.ts')
      const checks = await examine(context, probes)
      const problems = checks.filter(({ state }) => state === 'problem').length
      const warnings = checks.filter(({ state }) => state === 'warning').length
      print(context, { problems, warnings, checks }, () => doctorLines(checks, drawing(context)))
      return problems > 0 ? EXIT.failed : EXIT.done
    },
  })

export const doctor = doctorWith(systemProbes)
