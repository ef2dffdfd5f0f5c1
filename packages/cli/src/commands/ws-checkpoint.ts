// `parley ws checkpoint`: keeps what the folder holds now.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { plural } from '../render/format.ts'

export const wsCheckpoint = command({
  name: 'ws checkpoint',
  summary: 'Keep what the folder holds now: a turn that dies goes on from here',
  args: [{ name: 'TEXT', summary: 'What was done, in quotes', optional: true }],
  flags: {},
  examples: [
    ['parley ws checkpoint "The parser works, tests are next"', 'say what was done'],
    ['parley ws checkpoint --json', 'its id and the files that it holds'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const kept = await api.checkpoint(words[0]?.trim() || 'checkpoint')
    print(context, kept, () => [`Kept ${kept.checkpoint}: ${plural(kept.files.length, 'file')} changed.`])
    return EXIT.done
  },
})
