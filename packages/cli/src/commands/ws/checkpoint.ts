// `parley ws checkpoint`: saves the folder of a workspace.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'

export default command({
  args: [{ name: 'TEXT', summary: 'What was done, in quotes', optional: true }],
  examples: [
    ['parley ws checkpoint "The parser works, tests are next"', 'say what was done'],
    ['parley ws checkpoint --json', 'its id and the changed files'],
  ],
  async run(context, { words }) {
    const kept = await context.api.workspaces.checkpoint({ intent: words[0]?.trim() || 'checkpoint' })
    print(context, kept, () => [`Saved ${kept.checkpoint}: ${plural(kept.files.length, 'file')} changed.`])
  },
})
