// `parley peers pending`: strangers who have called, and got silence.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { drawing, print, remark } from '../output.ts'
import { pendingLines } from '../render/peers.ts'

export const peersPending = command({
  name: 'peers pending',
  summary: 'List strangers who have called and got silence',
  about:
    'Each has signed a message with the key that is listed; nothing else is known of them. At most twenty are kept, the newest.',
  args: [],
  flags: {},
  examples: [
    ['parley peers pending', 'keys, digits to compare aloud, and when they called'],
    ['parley peers pending --json', 'for a program'],
  ],
  async run(context) {
    const api = await context.connect()
    const pending = await api.pendingPeers()
    print(context, { pending }, () =>
      pending.length > 0 ? pendingLines(pending, drawing(context).now) : ['No stranger has called.'],
    )
    if (pending.length > 0)
      remark(
        context,
        'Compare the digits aloud first, then: parley peers accept KEY --id NAME. Or: parley peers dismiss KEY. The beginning of a key is enough.',
      )
    return EXIT.done
  },
})
