// `parley peers remove`: unpins a peer.
import { command } from '../../command.ts'
import { print, remark } from '../../output.ts'
import { oneLine } from '../../render/text.ts'
import { PEER } from './words.ts'

export default command({
  args: [PEER],
  examples: [
    ['parley peers remove bob', 'it can no longer reach you, nor you it'],
    ['parley peers remove bob --json', 'with the entry as it was'],
  ],
  async run(context, { words }) {
    const { peer } = await context.api.peers.unpin({ id: words[0]! })
    print(context, { peer }, () => [`${oneLine(peer.id)} is no longer pinned, and gets silence.`])
    remark(context, `Its key was ${peer.pubkey}. It may still have you pinned; only its owner can change that.`)
  },
})
