// The MCP server of one turn (official SDK): each verb is a tool. Refusals are results with a stable code, so that the
// agent reads them; only a request that is no tool call fails as a request.
import type { Readable, Writable } from 'node:stream'
import { type CallToolResult, Server, type Tool } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { agentVerbs } from '@parley/node/verbs'
import { asFailure, Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { NodeClient } from '../node/client.ts'
import { plural } from '../render/format.ts'
import { type Verb, verbLines } from '../render/verbs.ts'
import { VERSION } from '../version.ts'

const SERVER = { name: 'parley', version: VERSION }

const INSTRUCTIONS =
  'Parley runs the team that you are a part of. `status` shows your task and what you can call here. Tool results say when mail has come for you; `inbox` reads it.'

/** Resolves when the turn is over, or whoever reads and writes has gone. Rejects where the token opens nothing. */
export async function serveTurn(
  api: NodeClient,
  { input, output }: { readonly input: Readable; readonly output: Writable },
): Promise<void> {
  const { verbs } = await api.workspaces.status({})
  const over = new AbortController()
  const calls = new Calls(api, over.signal)
  let current: Server | undefined
  const serve = () => {
    current = new Server(SERVER, { capabilities: { tools: {}, logging: {} }, instructions: INSTRUCTIONS })
    current.setRequestHandler('tools/list', () => ({ tools: verbs.filter(isVerb).map(toolOf) }))
    current.setRequestHandler('tools/call', ({ params }, { mcpReq }) => calls.take(params, mcpReq.signal))
    return current
  }
  const transport = new StdioServerTransport(input, output, { maxBufferSize: cliLimits.mcpMessageBytes })
  const handle = serveStdio(serve, { transport })
  const closed = transport.onclose
  transport.onclose = () => {
    closed?.()
    over.abort()
  }
  const said = transport.onerror
  let broke: Error | undefined
  transport.onerror = error => {
    said?.(error)
    // The transport closes within the same call where it cannot go on. A line that is no message ends nothing, and
    // whoever has gone needs no reason.
    queueMicrotask(() => {
      if (over.signal.aborted && !('code' in error)) broke ??= error
    })
  }
  if (input.readableEnded || input.destroyed) over.abort()
  void tellMail(api, () => current, over.signal).then(() => over.abort())
  await fired(over.signal)
  await handle.close()
  input.destroy()
  if (broke)
    throw new Failure('PAYLOAD_TOO_LARGE', 'The server of the tools ended: a message was longer than it reads.', {
      why: broke.message,
      next: `Send less than ${cliLimits.mcpMessageBytes / 1024 / 1024} MiB at once.`,
    })
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Tools that are called, up to a bound. */
class Calls {
  readonly #api: NodeClient
  readonly #over: AbortSignal
  #open = 0

  constructor(api: NodeClient, over: AbortSignal) {
    this.#api = api
    this.#over = over
  }

  async take(asked: Asked, signal: AbortSignal): Promise<CallToolResult> {
    if (this.#open >= cliLimits.mcpCalls)
      return refused(new Failure('overloaded', 'Too many calls at once.', { next: 'Wait for an answer first.' }))
    this.#open++
    try {
      return await callTool(this.#api, asked, AbortSignal.any([signal, this.#over]))
    } finally {
      this.#open--
    }
  }
}

/** Until the turn is over. A node that is away for a moment does not end it: the next call says what is wrong. */
async function tellMail(api: NodeClient, server: () => Server | undefined, signal: AbortSignal): Promise<void> {
  try {
    // A program that takes no notices sees the same in the result of its next call.
    for await (const { mail } of api.streams.workspaces.waiting({}, { signal }))
      if (mail.length > 0)
        await server()
          ?.sendLoggingMessage(noticeOf(mail))
          .catch(() => undefined)
  } catch {
    await fired(signal)
  }
}

function noticeOf(mail: readonly object[]) {
  return { level: 'notice', logger: 'parley', data: { state: 'delivered', mail } } as const
}

function isVerb(name: string): name is Verb {
  return Object.hasOwn(agentVerbs, name)
}

function toolOf(name: Verb): Tool {
  const { description, input, ...more } = agentVerbs[name]
  return {
    name,
    description,
    inputSchema: input as unknown as Tool['inputSchema'],
    // What a program asks its user about before it calls a tool: nothing here destroys or leaves the machine.
    annotations: { readOnlyHint: 'reads' in more, destructiveHint: false, openWorldHint: false },
  }
}

type Asked = { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined }

async function callTool(
  api: NodeClient,
  { name, arguments: given = {} }: Asked,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    if (!isVerb(name)) throw new Failure('not_found', `There is no tool '${name}'.`)
    const wait = typeof given.wait_s === 'number' ? given.wait_s * 1000 : 0
    const call = api.workspaces[name] as (...asked: unknown[]) => Promise<Readonly<Record<string, unknown>>>
    const answer = await call(given, { signal, timeout: wait + cliLimits.askMarginMs })
    const lines = verbLines[name](answer as never, verb => verb)
    const unread = await unreadOf(api, name, answer)
    const told = unread > 0 ? [`Mail: ${plural(unread, 'message')} delivered and unread; inbox reads it.`] : []
    return {
      content: [{ type: 'text', text: [...lines, ...told].join('\n') }],
      structuredContent: { ...answer, unread },
    }
  } catch (thrown) {
    return refused(asFailure(thrown))
  }
}

/** The answer of `status` says it, and what reads the mail leaves none. */
async function unreadOf(api: NodeClient, name: Verb, answer: Readonly<Record<string, unknown>>): Promise<number> {
  if (typeof answer.unread === 'number') return answer.unread
  if (name === 'inbox') return 0
  return (await api.workspaces.status({})).unread
}

function refused({ code, message, why, next }: Failure): CallToolResult {
  const text = [`${code}: ${message}`, ...(why ? [why] : []), ...next].join('\n')
  return { isError: true, content: [{ type: 'text', text }], structuredContent: { error: { code, message } } }
}
