// `parley peers list`, which `parley peers` alone is too: who is pinned, and what each may do here.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { Failure } from '../failure.ts'
import { drawing, print, remark } from '../output.ts'
import { peerLines, peersTable } from '../render/peers.ts'
import { oneLine } from '../render/text.ts'
import { suggest } from '../suggest.ts'
import { PEER } from './peers-words.ts'

export const peersList = command({
  name: 'peers list',
  summary: 'List the peers that are pinned, or show one in full',
  args: [{ ...PEER, optional: true }],
  flags: {},
  examples: [
    ['parley peers', 'everybody, where they are, what they may do here, what they have spent today'],
    ['parley peers list bob', 'one of them, with the digits to compare aloud'],
  ],
  async run(context, { words }) {
    const api = await context.connect()
    const { peers, problems } = await api.peers()
    const [id] = words
    const one = id === undefined ? undefined : peers.find(peer => peer.id === id)
    if (id !== undefined && !one) {
      const near = suggest(
        id,
        peers.map(peer => peer.id),
      )
      throw new Failure('unknown_peer', `Nobody is pinned as '${id}'.`, {
        ...(near !== undefined && { why: `Did you mean '${near}'?` }),
        next: '`parley peers` lists who is.',
      })
    }
    print(context, one ?? { peers, problems }, () => {
      if (one) return peerLines(one)
      return peers.length > 0
        ? peersTable(peers, drawing(context))
        : ['Nobody is pinned. `parley id` prints the line to send; `parley peers add` takes one.']
    })
    for (const each of problems)
      remark(context, `${context.terminal.paint('warning', 'warning:')} ${oneLine(each)}`)
    return EXIT.done
  },
})
