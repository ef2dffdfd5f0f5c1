// `parley ping`: whether a peer is there and takes our calls.
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { peerFailure } from '../peer-failure.ts'
import { duration } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { PEER } from './peers-words.ts'
import { timeOf } from './words.ts'

export const ping = command({
  name: 'ping',
  summary: 'See whether a peer is there and takes your calls',
  args: [PEER],
  flags: {
    timeout: { type: 'text', value: 'TIME', summary: 'How long to wait (default: 5s)' },
  },
  examples: [
    ['parley ping bob', 'who answers, and how fast'],
    ['parley ping bob --timeout 1s --json', 'from a script; the exit code tells the rest'],
  ],
  async run(context, { flags, words }) {
    const timeout = await timeOf(flags.timeout)
    const peer = words[0]!
    const api = await context.connect()
    const pong = await api.ping(peer, timeout).catch(thrown => {
      throw peerFailure(peer, thrown)
    })
    print(context, pong, () => [
      `${oneLine(peer)} answers: profile ${oneLine(pong.agent_name)}, ALP version ${pong.version}, ${took(pong.ms)}`,
    ])
    return EXIT.done
  },
})

function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : duration(ms)
}
