// `parley kb import`: registers the blocks of a file.
import { resolve } from 'node:path'
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import { print, remark } from '../../output.ts'
import { plural } from '../../render/format.ts'

export default command({
  about:
    'All of the file is checked before anything is registered. You become the curator of its blocks here. They are data: a procedure is executed once you trust it (`parley kb trust`).',
  args: [{ name: 'FILE', summary: 'A file that `parley kb export` wrote', complete: 'file' }],
  examples: [
    ['parley kb import backup.kb.json', 'the block and everything that it comes from'],
    ['parley kb import backup.kb.json --json', 'which of them were new, for a program'],
  ],
  async run(context, { words }) {
    const { blocks } = await context.api.knowledge.import({ file: resolve(context.cwd, words[0]!) }, SLOW)
    const fresh = blocks.filter(({ isNew }) => isNew)
    print(context, { blocks }, () => [
      ...blocks.map(({ kbHash, isNew }) => `${kbHash} ${isNew ? 'registered' : 'was here already'}`),
    ])
    if (fresh.length > 0) remark(context, `${plural(fresh.length, 'block')} registered; none of them is trusted.`)
  },
})
