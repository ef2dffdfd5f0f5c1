// The bounds of `parley mcp`, in this process: lines in, lines out.
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { cliLimits } from '../limits.ts'
import { nodeClient } from '../node/client.ts'
import { type Brought, fakeNode } from '../testing/fake-node.ts'
import { serveTurn } from './server.ts'

const STATUS = { verbs: ['status', 'ask'], unread: 0 }

/** A served turn that is never over by itself. */
function served(more: Brought) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const answers: {
    readonly id: number
    readonly result: { readonly structuredContent: unknown; readonly isError?: boolean }
  }[] = []
  let rest = ''
  output.on('data', chunk => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop()!
    answers.push(...lines.map(line => JSON.parse(line)))
  })
  const over = Promise.withResolvers<void>()
  const waiting = async function* () {
    yield { mail: [] }
    await over.promise
  }
  const api = nodeClient(fakeNode({ '/workspaces/status': STATUS, '/workspaces/waiting': waiting, ...more }))
  const ended = serveTurn(api, { input, output })
  onTestFinished(() => {
    input.end()
    over.resolve()
    return ended.catch(() => undefined)
  })
  let id = 0
  const send = (method: string, params: object) =>
    void input.write(`${JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })}\n`)
  send('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } })
  return { input, answers, ended, over, send }
}

test('calls beyond the bound are refused, and the others are answered', async () => {
  const asked = Promise.withResolvers<void>()
  const { answers, send } = served({
    '/workspaces/ask': async () => {
      await asked.promise
      return { answered: false, mail: [] }
    },
  })
  for (let call = 0; call <= cliLimits.mcpCalls; call++)
    send('tools/call', { name: 'ask', arguments: { question: 'x' } })
  await expect.poll(() => answers.length).toBe(2)
  expect(answers[1]).toMatchObject({
    id: cliLimits.mcpCalls + 2,
    result: { isError: true, structuredContent: { error: { code: 'overloaded' } } },
  })
  asked.resolve()
  await expect.poll(() => answers.length).toBe(cliLimits.mcpCalls + 2)
  expect(answers.filter(({ result }) => result.isError)).toHaveLength(1)
})

test('a message that is too long ends it, and it says so', async () => {
  const { answers, ended, input } = served({})
  const failed = expect(ended).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  await expect.poll(() => answers.length).toBe(1)
  input.write('no message\n')
  input.write('x'.repeat(cliLimits.mcpMessageBytes + 1))
  await failed
})

test.each([
  ['the input ends', ({ input }: ReturnType<typeof served>) => void input.end()],
  ['the turn is over', ({ over }: ReturnType<typeof served>) => over.resolve()],
])('it ends when %s', async (_, happens) => {
  const server = served({})
  await expect.poll(() => server.answers.length).toBe(1)
  happens(server)
  await server.ended
})
