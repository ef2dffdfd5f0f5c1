// `parley peers accept`: a stranger who called is pinned.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { print, remark } from '../output.ts'
import { peerLines } from '../render/peers.ts'
import { PIN_FLAGS, pinChoices, pinnedRemarks, strangerFailure } from './peers-words.ts'

export const PENDING_KEY = {
  name: 'KEY',
  summary: 'The key or fingerprint of a stranger who called, or a unique beginning of it',
} as const

export const peersAccept = command({
  name: 'peers accept',
  summary: 'Pin a stranger who has called',
  about:
    'Compare the digits that `parley peers pending` shows with its owner first. To ask it, --address has to say where it is reached: the port that it called from is not the one where it listens.',
  args: [PENDING_KEY],
  flags: { id: { type: 'text', value: 'NAME', summary: 'What you call it; needed' }, ...PIN_FLAGS },
  examples: [
    ['parley peers accept A6EHv --id bob', 'it may ping and ask'],
    ['parley peers accept A6EHv --id bob --address bob.lan:7423', 'and you can ask it, at this address'],
  ],
  async run(context, { flags, words }) {
    if (flags.id === undefined) {
      throw new Failure('usage', 'What is this peer to be called?', {
        why: 'No name ever comes from the other side.',
        next: `parley peers accept ${words[0]} --id NAME`,
      })
    }
    const api = await context.connect()
    const peer = await api
      .acceptPeer({ key: words[0]!, id: flags.id, ...pinChoices(flags) })
      .catch(thrown => {
        throw strangerFailure(thrown)
      })
    print(context, { peer }, () => peerLines(peer))
    for (const each of pinnedRemarks(peer)) remark(context, each)
    return EXIT.done
  },
})
