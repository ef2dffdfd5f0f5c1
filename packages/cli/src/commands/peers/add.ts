// `parley peers add`: pins a peer, from the line that its owner sent.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { PIN_FLAGS, pinChoices, printPinned } from './words.ts'

const INVITATION = 'alp://'
/** What stands before the name that the owner proposes. */
const NAMED = '#'

export default command({
  about:
    'From then on it may do here what the list allows, and you can ask it. The line proves nothing by itself: compare the digits aloud. Pinning is one-way; the other side pins you with your line.',
  args: [{ name: 'INVITATION|KEY', summary: 'A line that begins with alp://, or a public key' }],
  flags: {
    id: { value: 'NAME', summary: 'Your name for it (default: the name in the invitation)' },
    ...PIN_FLAGS,
    rate: { value: 'N', whole: true, summary: 'Calls per minute (default: 60)' },
  },
  examples: [
    ['parley peers add alp://0Uzr…@192.168.1.7:7423#home', 'as the owner sent it; you call it home'],
    [
      'parley peers add alp://0Uzr…@192.168.1.7:7423#home --id bob --allow link.ping,link.ask,link.cancel',
      'under another name, and it may cancel its own turns',
    ],
    ['parley peers add A6EHv/POEL4d…= --id bob --address bob.lan:7423', 'from a bare key'],
  ],
  async run(context, { flags, words }) {
    const text = words[0]!.trim()
    const invited = text.startsWith(INVITATION)
    if (flags.id === undefined && !(invited && text.includes(NAMED))) {
      throw new Failure('usage', 'What should this peer be called?', {
        why: invited ? 'The invitation proposes no name.' : 'A bare key has no name.',
        next: invited ? 'Add --id NAME.' : 'Add --id NAME, or paste the whole line that begins with alp://.',
      })
    }
    const { peer } = await context.api.peers.pin({
      ...(invited ? { invitation: text } : { pubkey: text }),
      id: flags.id,
      ...pinChoices(flags),
      per_minute: flags.rate,
    })
    printPinned(context, peer)
  },
})
