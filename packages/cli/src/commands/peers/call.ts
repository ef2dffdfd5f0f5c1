// `parley call`: calls an operation of the node of a peer, over its second listener.
import { command } from '../../command.ts'
import { Failure } from '../../failure.ts'
import { printJson } from '../../output.ts'
import { oneLine } from '../../render/text.ts'
import { patience, timeOf } from '../words.ts'
import { fromPeer } from './peer-failure.ts'
import { PEER } from './words.ts'

export default command({
  about:
    'The peer needs a second listener (`alp.call_port` in its config.yaml), and its owner allows each operation: parley peers allow YOU /runs/list. Queries and mutations can be called; the output is printed as JSON.',
  args: [
    PEER,
    { name: 'OPERATION', summary: 'Its path, such as /runs/list' },
    { name: 'INPUT', summary: 'Its input, as JSON (default: {})', optional: true },
  ],
  flags: {
    port: { value: 'PORT', summary: 'The port of its second listener (default: 7424)' },
    timeout: { value: 'TIME', summary: 'How long to wait (default: 30s)' },
  },
  examples: [
    ['parley call bob /services/list', 'what you may call there'],
    [`parley call bob /runs/list '{"limit": 3}'`, "bob's newest runs, if bob allows that"],
  ],
  async run(context, { flags, words }) {
    const [peer = '', operation = '', text = '{}'] = words
    if (!operation.startsWith('/'))
      throw new Failure('usage', `'${oneLine(operation)}' is not the path of an operation.`, {
        next: `\`parley call ${oneLine(peer)} /services/list\` lists those that you may call.`,
      })
    const input = inputOf(text)
    const port = portOf(flags.port)
    const timeout_ms = timeOf(flags.timeout)
    const called = { peer, operation, input, port, timeout_ms }
    const { output } = await fromPeer(peer, context.api.link.call(called, patience(timeout_ms)))
    printJson(context, output)
  },
})

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Failure('usage', 'The input is not JSON.', {
      why: cause instanceof Error ? cause.message : String(cause),
      next: `Quote it for the shell: '{"limit": 3}'`,
    })
  }
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw new Failure('usage', `'${text}' is not a port.`, { next: 'Give a number from 1 to 65535.' })
}
