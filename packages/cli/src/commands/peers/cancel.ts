// `parley cancel`: cancels a turn that we asked a peer for.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { oneLine } from '../../render/text.ts'
import { patience } from '../words.ts'
import { fromPeer } from './peer-failure.ts'
import { PEER } from './words.ts'

export default command({
  about:
    "Only turns requested with this profile's key can be cancelled. The peer must allow it (link.cancel). Ctrl-C in `parley ask` always ends a turn, since the peer notices that nobody is listening.",
  args: [PEER, { name: 'SESSION', summary: 'Which turn (default: your turn that is running there)', optional: true }],
  examples: [
    ['parley cancel bob', 'your running turn'],
    ['parley cancel bob 0f3a9c1d22e4', 'one turn'],
  ],
  async run(context, { words }) {
    const [peer = '', session] = words
    const done = await fromPeer(peer, context.api.link.cancel({ peer, session }, patience()))
    print(context, done, () => [
      done.cancelled
        ? `Cancelled: ${oneLine(peer)} is ending the turn.`
        : `Nothing to cancel: ${oneLine(peer)} is running no ${session === undefined ? 'turn of yours' : 'such turn'}.`,
    ])
  },
})
