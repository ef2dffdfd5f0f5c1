// `parley agents`: who could do the work.
import { command } from '../../command.ts'
import { asFailure } from '../../failure.ts'
import { drawing, print, remark } from '../../output.ts'
import { agentsTable } from '../../render/runs.ts'
import { nearestTeam } from '../solve/solve.ts'

export default command({
  about: 'Programs are looked for on your PATH, as for a run that you start here.',
  examples: [
    ['parley agents', 'those of the team file, what is configured, and what was found on PATH'],
    ['parley agents --json', 'with what each needs'],
  ],
  async run(context) {
    const near = await nearestTeam(context).catch((thrown: unknown) => {
      remark(context, `The agents of the team file are left out: ${asFailure(thrown).message}`)
      return undefined
    })
    const team = near && { text: near.text, file: near.file }
    const list = (await context.api.agents.list({ path: context.env.PATH, team })).agents
    print(context, { agents: list }, () => agentsTable(list, drawing(context)))
  },
})
