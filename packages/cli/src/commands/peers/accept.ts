// `parley peers accept`: pins a stranger who called.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { ofStranger, PIN_FLAGS, pinChoices, printPinned } from './words.ts'

export const PENDING_KEY = {
  name: 'KEY',
  summary: 'The key or fingerprint of a stranger who called, or a unique prefix of it',
} as const

export default command({
  about:
    'First compare the digits that `parley peers pending` shows with its owner. To ask it, give its address with --address: the port that it called from is not the one it listens on.',
  args: [PENDING_KEY],
  flags: { id: { value: 'NAME', summary: 'Your name for it; required' }, ...PIN_FLAGS },
  examples: [
    ['parley peers accept A6EHv --id bob', 'it may ping and ask'],
    ['parley peers accept A6EHv --id bob --address bob.lan:7423', 'and you can ask it at this address'],
  ],
  async run(context, { flags, words }) {
    if (flags.id === undefined) {
      throw new Failure('usage', 'What should this peer be called?', {
        why: 'A name never comes from the other side.',
        next: `parley peers accept ${words[0]} --id NAME`,
      })
    }
    const stranger = { key: words[0]!, id: flags.id, ...pinChoices(flags) }
    const { peer } = await ofStranger(context.api.peers.accept(stranger))
    printPinned(context, peer)
  },
})
