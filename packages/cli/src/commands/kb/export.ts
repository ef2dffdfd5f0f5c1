// `parley kb export`: a Knowledge Block and everything that it comes from as a file.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { command } from '../../command.ts'
import type { Output } from '../../node/client.ts'
import { print, remark } from '../../output.ts'
import { bytes } from '../../render/format.ts'
import { fileExists, writeNewFile } from '../trail/new-file.ts'
import { BLOCK } from './words.ts'

export default command({
  about:
    'Anyone can verify the file with `parley kb verify FILE`, and register its blocks with `parley kb import FILE`. Trust does not travel with it.',
  args: [BLOCK],
  flags: {
    output: {
      value: 'FILE',
      short: 'o',
      complete: 'file',
      summary: 'A new file, usually with the extension .kb.json (default: standard output)',
    },
  },
  examples: [
    ['parley kb export 0x9cccde9b -o backup.kb.json', 'to a file, which must not exist yet'],
    ['parley kb export 0x9cccde9b | jq .blocks[0]', 'for programs'],
  ],
  async run(context, { flags, words }) {
    const file = flags.output === undefined ? undefined : resolve(context.cwd, flags.output)
    if (file !== undefined && existsSync(file)) throw fileExists(file)
    const pieces = textOf(context.api.streams.knowledge.export({ block: words[0]! }))
    if (file === undefined) {
      for await (const piece of pieces) {
        context.terminal.out(piece)
        await context.terminal.drained()
      }
      return
    }
    const written = await writeNewFile(file, pieces)
    print(context, { file, bytes: written }, () => [`${file}: ${bytes(written)}`])
    remark(context, 'Anyone can verify it with `parley kb verify FILE`.')
  },
})

async function* textOf(pieces: AsyncIterable<Output<'/knowledge/export'>>): AsyncIterable<string> {
  for await (const { text } of pieces) yield text
}
