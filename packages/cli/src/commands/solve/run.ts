// `parley run FILE`: a team file that says itself what it is for.
import { resolve } from 'node:path'
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { readTextFile } from '../words.ts'
import { projectOf, readTeam, START_FLAGS, start, startChoices } from './solve.ts'

export default command({
  args: [{ name: 'FILE', summary: 'The team file', complete: 'file' }],
  flags: START_FLAGS,
  examples: [
    ['parley run parley.yaml', 'asks before starting'],
    ['parley run checks/release.yaml --project ../other --yes', 'on another project, without asking'],
  ],
  async run(context, { flags, words }) {
    const file = resolve(context.cwd, words[0]!)
    const text = readTextFile(file, 'Name an existing file; `parley init` writes parley.yaml.')
    const read = await readTeam(context, file, text)
    const { description: intent } = read.team
    if (intent === '') {
      throw new Failure('invalid_team', `${file} has no description.`, {
        why: '`parley run` takes it as the intent.',
        next: `Add \`description:\`, or use parley solve "…" --team ${words[0]}`,
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
