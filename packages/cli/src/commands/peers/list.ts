// `parley peers list`, also plain `parley peers`: the pinned peers and their rights.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { suggest } from '../../line/words.ts'
import { drawing, print, remark } from '../../output.ts'
import { peerLines, peersTable } from '../../render/peers.ts'
import { oneLine } from '../../render/text.ts'
import { PEER } from './words.ts'

export default command({
  args: [{ ...PEER, optional: true }],
  examples: [
    ['parley peers', 'every peer: address, rights here, spending today'],
    ['parley peers list bob', 'one peer, with the digits to compare aloud'],
  ],
  async run(context, { words }) {
    const { peers, problems } = await context.api.peers.list({})
    const [id] = words
    const one = id === undefined ? undefined : peers.find(peer => peer.id === id)
    if (id !== undefined && !one) {
      const near = suggest(
        id,
        peers.map(peer => peer.id),
      )
      throw new Failure('unknown_peer', `No peer is pinned as '${id}'.`, {
        ...(near !== undefined && { why: `Did you mean '${near}'?` }),
        next: '`parley peers` lists the pinned peers.',
      })
    }
    print(context, one ?? { peers, problems }, () => {
      if (one) return peerLines(one)
      return peers.length > 0
        ? peersTable(peers, drawing(context))
        : ['No peer is pinned. `parley id` prints the line to send; `parley peers add` pins from one.']
    })
    for (const each of problems) remark(context, `${context.terminal.paint('warning', 'warning:')} ${oneLine(each)}`)
  },
})
