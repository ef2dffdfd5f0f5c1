// `parley peers pending`: lists strangers who called and got silence.
import { command } from '../../command.ts'
import { drawing, print, remark } from '../../output.ts'
import { pendingLines } from '../../render/peers.ts'

export default command({
  about:
    'Each has signed a message with the key that is listed; nothing else is known about them. Only the newest twenty are kept.',
  examples: [
    ['parley peers pending', 'keys, digits to compare aloud, and when they called'],
    ['parley peers pending --json', 'for a program'],
  ],
  async run(context) {
    const pending = (await context.api.peers.pending({})).pending
    print(context, { pending }, () =>
      pending.length > 0 ? pendingLines(pending, drawing(context).now) : ['No stranger has called.'],
    )
    if (pending.length > 0)
      remark(
        context,
        'Compare the digits aloud first, then: parley peers accept KEY --id NAME. Or: parley peers dismiss KEY. A prefix of the key is enough.',
      )
  },
})
