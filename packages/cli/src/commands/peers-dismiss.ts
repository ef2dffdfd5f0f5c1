// `parley peers dismiss`: a stranger is forgotten.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { PENDING_KEY } from './peers-accept.ts'
import { strangerFailure } from './peers-words.ts'

export const peersDismiss = command({
  name: 'peers dismiss',
  summary: 'Forget a stranger who has called',
  about: 'Nothing is sent, and nothing keeps it from calling again: it gets silence, and is listed again.',
  args: [PENDING_KEY],
  flags: {},
  examples: [
    ['parley peers dismiss A6EHv', 'the one whose key begins so'],
    ['parley peers dismiss SHA256:mVPwvezn', 'by the fingerprint'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const dismissed = await api.dismissPeer(words[0]!).catch(thrown => {
      throw strangerFailure(thrown)
    })
    print(context, dismissed, () => [`Forgotten: ${dismissed.pubkey}`])
    return EXIT.done
  },
})
