// A model on loopback, which answers as a script says. One server speaks every dialect: each program has paths of its
// own.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { anthropic } from './anthropic.ts'
import { chat } from './chat.ts'
import { type Answer, type Asked, type Dialect, type Json, object, type Reply, type Written } from './dialect.ts'
import { gemini } from './gemini.ts'
import { responses } from './responses.ts'

/** One request for an answer, with what a script decides by. */
export interface Turn extends Asked {
  /** The last thing that somebody asked, without what programs put around it. */
  readonly prompt: string
  /** Everything that is said in the name of the user, without that. */
  readonly said: readonly string[]
  /** Results of tools since then. */
  readonly results: readonly string[]
  /** Programs ask for titles and the like besides; these offer no tools. */
  readonly side: boolean
}

export type Script = (turn: Turn) => Reply | Promise<Reply>

export interface Logged {
  readonly method: string
  readonly path: string
  readonly credential: string | undefined
  /** As it was sent: what is not in here, the model has not seen. */
  readonly body: string
  readonly turn: Turn | undefined
  /** Milliseconds of this process. */
  readonly at: number
}

/** What a script does not see: titles offer no tools; qwen looks for what is worth remembering. */
const SIDE: Answer = { text: 'A small task' }
const MEMORY = /^Managed memory has /

export class ModelServer {
  readonly log: Logged[] = []
  script: Script = () => ({ text: 'Nothing to do.' })
  readonly #server: Server
  readonly #waiting: { readonly holds: (logged: Logged) => boolean; readonly resolve: () => void }[] = []

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(thrown => {
        console.error('the model server failed:', thrown)
        response.destroy()
      })
    })
  }

  static async listen(): Promise<ModelServer> {
    const server = new ModelServer()
    await new Promise<void>(resolve => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Requests for answers to a prompt. */
  get turns(): readonly Turn[] {
    return this.log.flatMap(({ turn }) => (turn && !turn.side ? [turn] : []))
  }

  /** A request like this has come. */
  until(holds: (logged: Logged) => boolean): Promise<void> {
    if (this.log.some(holds)) return Promise.resolve()
    return new Promise(resolve => this.#waiting.push({ holds, resolve }))
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request
    const path = new URL(url, this.url).pathname
    const body = await text(request)
    const dialect = dialectOf(path)
    const asked = method === 'POST' ? dialect.read(path, jsonOf(body)) : undefined
    const turn = asked && turnOf(asked)
    const logged = { method, path, credential: dialect.credential(headers), body, turn, at: performance.now() }
    this.log.push(logged)
    for (const { holds, resolve } of this.#waiting) if (holds(logged)) resolve()
    if (!asked || !turn) {
      send(response, besides(headers, dialect.aside(method, path)))
      return
    }
    const reply = await this.script(turn)
    if (reply === 'hang') return
    if ('trouble' in reply) send(response, dialect.trouble(reply.trouble))
    else {
      const answer = turn.side ? SIDE : placed(reply, body)
      if (asked.stream) stream(response, dialect.streamed(answer, asked))
      else send(response, { status: 200, body: dialect.whole(answer, asked) })
    }
  }
}

function besides({ upgrade }: IncomingHttpHeaders, aside: unknown): Written {
  if (aside !== undefined) return { status: 200, body: aside }
  // A program that would rather have a web socket goes on without one.
  return { status: upgrade === undefined ? 404 : 426, body: { error: 'no such path' } }
}

function dialectOf(path: string): Dialect {
  if (path.startsWith('/v1beta')) return gemini
  if (/\/responses$/.test(path)) return responses
  if (/\/messages(\/|$)/.test(path)) return anthropic
  return chat
}

/** What programs tell the model by themselves, in the name of the user. */
const OWN = /<(system-reminder|environment_context|session_context|user_instructions)>[\s\S]*?<\/\1>/g

function turnOf(asked: Asked): Turn {
  const own = asked.messages.map(each => ({ ...each, text: each.text.replaceAll(OWN, '').trim() }))
  const last = own.findLastIndex(({ role, text, results }) => role === 'user' && text !== '' && results.length === 0)
  const prompt = own[last]?.text ?? ''
  const results = own.slice(last + 1).flatMap(each => each.results)
  const said = own.filter(({ role, text }) => role === 'user' && text !== '').map(({ text }) => text)
  return { ...asked, prompt, said, results, side: asked.tools.length === 0 || MEMORY.test(prompt) }
}

/** Some programs take absolute paths only: they tell the model where it is, as `{folder}` of a call. */
function placed(answer: Answer, body: string): Answer {
  const folder = /\/[^\s"'<>\\]*\/work\/ws_[a-z0-9]+/.exec(body)?.[0] ?? '.'
  return JSON.parse(JSON.stringify(answer).replaceAll('{folder}', folder))
}

function jsonOf(body: string): Json {
  try {
    return object(JSON.parse(body))
  } catch {
    return {}
  }
}

function send(response: ServerResponse, { status, headers, body }: Written): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

function stream(response: ServerResponse, events: ReturnType<Dialect['streamed']>): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  for (const [event, data] of events) {
    if (event !== undefined) response.write(`event: ${event}\n`)
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  }
  response.end()
}
