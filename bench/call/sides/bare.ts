// The limit of this design: JSON envelopes of type, id and payload on a socket, a map of what is pending, and nothing
// else. No checks, no access control, no deadlines, no cancelling; ids are counted, and values go to a callback. A
// second one writes what the protocol says: ids are random UUIDs, and a request names its operation and deadline; it
// shows what of the difference the protocol itself takes.
import type { Client, Message, Side } from '../side.ts'
import { message } from '../side.ts'
import { connectFramed, Framed, listenFramed } from './framed.ts'
import { connectMessages, listenMessages } from './websocket.ts'

interface Envelope {
  readonly type: 'requested' | 'streamed' | 'responded' | 'completed'
  readonly id: string
  readonly payload: unknown
}

/** How requests are written. */
interface Spelling {
  id(): string
  request(type: Envelope['type'], id: string, input: unknown): unknown
  input(payload: unknown): unknown
}

function counted(): Spelling {
  let ids = 0
  return {
    id: () => String(ids++),
    request: (type, id, payload) => ({ type, id, payload }),
    input: payload => payload,
  }
}

const asTheProtocolSays: Spelling = {
  id: () => crypto.randomUUID(),
  request: (type, id, input) => ({
    type,
    id,
    payload: { name: '/bench/echo', input, deadline: Date.now() + 30_000 },
  }),
  input: payload => (payload as { readonly input: unknown }).input,
}

/** What carries texts both ways. */
export interface Texts {
  send(text: string): void
  /** Resolves when a stream may go on; undefined if that is now. */
  room(): Promise<void> | undefined
}

export function serveBare(texts: Texts, spelling = counted()): (text: string) => void {
  const send = (type: Envelope['type'], id: string, payload: unknown) =>
    texts.send(JSON.stringify({ type, id, payload }))
  const stream = async (id: string, count: number) => {
    for (let seq = 0; seq < count; seq++) {
      send('responded', id, message(seq))
      const room = texts.room()
      if (room) await room
    }
    send('completed', id, {})
  }
  return text => {
    const { type, id, payload } = JSON.parse(text) as Envelope
    const input = spelling.input(payload)
    if (type === 'requested') send('responded', id, input)
    else void stream(id, input as number)
  }
}

interface Pending {
  readonly value: (value: Message) => void
  readonly end: (() => void) | undefined
}

export function bareClient(spelling = counted()): {
  take: (text: string) => void
  client: (texts: Texts) => Client
} {
  const pending = new Map<string, Pending>()
  const take = (text: string) => {
    const { type, id, payload } = JSON.parse(text) as Envelope
    const request = pending.get(id)!
    if (type === 'responded') {
      if (!request.end) pending.delete(id)
      request.value(payload as Message)
    } else {
      pending.delete(id)
      request.end?.()
    }
  }
  const client = (texts: Texts): Client => {
    const request = (type: Envelope['type'], payload: unknown, waiting: Pending) => {
      const id = spelling.id()
      pending.set(id, waiting)
      texts.send(JSON.stringify(spelling.request(type, id, payload)))
    }
    return {
      echo: given => new Promise(resolve => request('requested', given, { value: resolve, end: undefined })),
      stream: (count, value) => new Promise(resolve => request('streamed', count, { value, end: resolve })),
    }
  }
  return { take, client }
}

function unix(spelling: () => Spelling): Side {
  return {
    serve: place =>
      listenFramed(place, socket => {
        const framed: Framed = new Framed(socket, text => answer(text))
        const answer = serveBare(framed, spelling())
      }),
    async connect(place) {
      const { take, client } = bareClient(spelling())
      return client(new Framed(await connectFramed(place), take))
    },
  }
}

export const bareUnix: Side = unix(counted)
export const spelledUnix: Side = unix(() => asTheProtocolSays)

export const bareWebSocket: Side = {
  serve: place => listenMessages(place, texts => serveBare(texts)),
  async connect(place) {
    const messages = await connectMessages(place)
    const { take, client } = bareClient()
    messages.listen(take)
    return client(messages)
  },
}
