// `parley ping`: checks whether a peer is online and takes our calls.
import { command } from '../../command.ts'
import { print } from '../../output.ts'
import { duration } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { patience, timeOf } from '../words.ts'
import { fromPeer } from './peer-failure.ts'
import { PEER } from './words.ts'

export default command({
  args: [PEER],
  flags: {
    timeout: { value: 'TIME', summary: 'How long to wait (default: 5s)' },
  },
  examples: [
    ['parley ping bob', 'who answers, and how quickly'],
    ['parley ping bob --timeout 1s --json', 'for a script; the exit code tells the result'],
  ],
  async run(context, { flags, words }) {
    const timeout_ms = timeOf(flags.timeout)
    const peer = words[0]!
    const pong = await fromPeer(peer, context.api.link.ping({ peer, timeout_ms }, patience(timeout_ms)))
    print(context, pong, () => [
      `${oneLine(peer)} answers: profile ${oneLine(pong.agent_name)}, ALP version ${pong.version}, ${took(pong.ms)}`,
    ])
  },
})

function took(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : duration(ms)
}
