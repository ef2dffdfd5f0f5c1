// `parley peers dismiss`: forgets a stranger who called.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { PENDING_KEY } from './accept.ts'
import { ofStranger } from './words.ts'

export default command({
  about: 'Nothing is sent, and it can call again: it then gets silence and is listed again.',
  args: [PENDING_KEY],
  examples: [
    ['parley peers dismiss A6EHv', 'by the beginning of its key'],
    ['parley peers dismiss SHA256:mVPwvezn', 'by the fingerprint'],
  ],
  async run(context, { words }) {
    const dismissed = await ofStranger(context.api.peers.dismiss({ key: words[0]! }))
    print(context, dismissed, () => [`Forgotten: ${dismissed.pubkey}`])
  },
})
