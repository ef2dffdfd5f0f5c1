// `parley peers remove`: somebody is pinned no longer.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print, remark } from '../output.ts'
import { oneLine } from '../render/text.ts'
import { PEER } from './peers-words.ts'

export const peersRemove = command({
  name: 'peers remove',
  summary: 'Unpin a peer: from now on it gets silence',
  args: [PEER],
  flags: {},
  examples: [
    ['parley peers remove bob', 'it can no longer reach you, and you cannot ask it'],
    ['parley peers remove bob --json', 'with the entry as it was'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const peer = await api.unpinPeer(words[0]!)
    print(context, { peer }, () => [`${oneLine(peer.id)} is not pinned any more, and gets silence.`])
    remark(context, `Its key was ${peer.pubkey}. That it has pinned you is for its owner to change.`)
    return EXIT.done
  },
})
