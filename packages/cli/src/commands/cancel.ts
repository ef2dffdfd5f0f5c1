// `parley cancel`: a turn that we asked a peer for ends.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { peerFailure } from '../peer-failure.ts'
import { oneLine } from '../render/text.ts'
import { PEER } from './peers-words.ts'

export const cancel = command({
  name: 'cancel',
  summary: 'Cancel a turn that you have asked a peer for',
  about:
    'Only turns that were asked for with the key of this profile can be cancelled. The peer has to allow it (link.cancel); Ctrl-C in `parley ask` ends a turn in any case, since the peer notices that nobody listens.',
  args: [
    PEER,
    { name: 'SESSION', summary: 'Which turn (default: the one of yours that runs there)', optional: true },
  ],
  flags: {},
  examples: [
    ['parley cancel bob', 'whatever you have asked there'],
    ['parley cancel bob 0f3a9c1d22e4', 'that one and no other'],
  ],
  async run(context, { words }) {
    const [peer = '', session] = words
    const api = await context.connect()
    const done = await api.cancelAsk(peer, session).catch(thrown => {
      throw peerFailure(peer, thrown)
    })
    print(context, done, () => [
      done.cancelled
        ? `Cancelled: ${oneLine(peer)} ends that turn.`
        : `Nothing to cancel: ${oneLine(peer)} is at no ${session === undefined ? 'turn of yours' : 'such turn'}.`,
    ])
    return EXIT.done
  },
})
