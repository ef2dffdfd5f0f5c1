// `parley peers allow`: what a peer may do here.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { oneLine } from '../../render/text.ts'
import { methodsOf, PEER } from './words.ts'

export default command({
  about:
    'The methods replace the current list. link.ping: check whether you are online. link.ask: have your agent take a turn. link.cancel: cancel its own turns. Names that begin with a slash, such as /runs/list, are operations of the second listener (alp.call_port). The change applies from the next call on.',
  args: [PEER, { name: 'METHOD', summary: 'As many as needed, or none', rest: true }],
  examples: [
    ['parley peers allow bob link.ping link.ask link.cancel', 'it may ask, and cancel its own turns'],
    ['parley peers allow bob none', 'still pinned, but it may do nothing here'],
  ],
  async run(context, { words }) {
    const [id, ...methods] = words
    const allow = methodsOf(methods)
    const { peer } = await context.api.peers.allow({ id: id!, allow })
    print(context, { peer }, () => [
      peer.allow.length > 0
        ? `${oneLine(peer.id)} may call ${peer.allow.map(oneLine).join(', ')}, and nothing else.`
        : `${oneLine(peer.id)} may call nothing here.`,
    ])
  },
})
