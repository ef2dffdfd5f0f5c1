// `parley run FILE`: a team file that says itself what it is for.
import { relative, resolve } from 'node:path'
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { readTextFile, TEAM_FILE } from '../words.ts'
import { nearestTeamFile, projectOf, readTeam, START_FLAGS, start, startChoices } from './solve.ts'

export default command({
  args: [
    {
      name: 'FILE',
      summary: "The team file (default: the project's parley.yaml)",
      optional: true,
      complete: 'file',
    },
  ],
  flags: START_FLAGS,
  examples: [
    ['parley run', 'with parley.yaml, asking before it starts'],
    ['parley run checks/release.yaml --project ../other --yes', 'on another project, without asking'],
  ],
  async run(context, { flags, words }) {
    const file = words[0] === undefined ? nearestTeamFile(context) : resolve(context.cwd, words[0])
    if (file === undefined) {
      throw new Failure('file_not_found', `There is no ${TEAM_FILE} in ${context.cwd}.`, {
        why: 'Without FILE it is looked for here and above, up to the top of the git repository.',
        next: `Name a file, or write one: parley init`,
      })
    }
    const named = words[0] ?? relative(context.cwd, file)
    const text = readTextFile(file, 'Name an existing file; `parley init` writes parley.yaml.')
    const read = await readTeam(context, file, text)
    const { description: intent } = read.team
    if (intent === '') {
      throw new Failure('invalid_team', `${file} has no description.`, {
        why: '`parley run` takes it as the intent.',
        next: `Add \`description:\`, or use parley solve "…" --team ${named}`,
        details: { file },
      })
    }
    const project = flags.project === undefined ? projectOf(context, file) : resolve(context.cwd, flags.project)
    return start(context, {
      intent,
      project,
      team: read,
      approved: flags.yes,
      ...startChoices(context, flags),
      detach: flags.detach,
    })
  },
})
