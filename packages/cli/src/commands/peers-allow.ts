// `parley peers allow`: what a peer may do here.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { oneLine } from '../render/text.ts'
import { methodsOf, PEER } from './peers-words.ts'

export const peersAllow = command({
  name: 'peers allow',
  summary: 'Set all that a peer may do here',
  about:
    'The methods take the place of the list that was there. link.ping: see whether you are there. link.ask: have your agent take a turn. link.cancel: cancel what it asked. Names that begin with a slash, such as /runs/list, are operations of the second listener (alp.call_port). It holds from the next call on.',
  args: [PEER, { name: 'METHOD', summary: 'As many as needed, or none', rest: true }],
  flags: {},
  examples: [
    ['parley peers allow bob link.ping link.ask link.cancel', 'it may ask, and cancel what it asked'],
    ['parley peers allow bob none', 'pinned, but it may do nothing here'],
  ],
  async run(context, { words }) {
    const [id, ...methods] = words
    const allow = methodsOf(methods)
    const api = await context.connect()
    const peer = await api.allowPeer(id!, allow)
    print(context, { peer }, () => [
      peer.allow.length > 0
        ? `${oneLine(peer.id)} may call ${peer.allow.map(oneLine).join(', ')}, and nothing else.`
        : `${oneLine(peer.id)} may call nothing here.`,
    ])
    return EXIT.done
  },
})
