// json-rpc-2.0: a library of messages without a transport, so it gets those of the bare side. It has no streams: values
// are notifications, and the answer to the request is the end.
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from 'json-rpc-2.0'
import { type Client, type Message, message, type Side } from '../side.ts'
import type { Texts } from './bare.ts'
import { connectFramed, Framed, listenFramed } from './framed.ts'
import { connectMessages, listenMessages } from './websocket.ts'

function peer(texts: Texts): JSONRPCServerAndClient {
  return new JSONRPCServerAndClient(
    new JSONRPCServer(),
    new JSONRPCClient(payload => texts.send(JSON.stringify(payload))),
  )
}

export function serveJsonRpc(texts: Texts): (text: string) => void {
  const both = peer(texts)
  both.addMethod('echo', (given: Message) => given)
  both.addMethod('stream', async ({ count }: { count: number }) => {
    for (let seq = 0; seq < count; seq++) {
      both.notify('value', message(seq))
      const room = texts.room()
      if (room) await room
    }
    return null
  })
  return text => void both.receiveAndSend(JSON.parse(text))
}

export function jsonRpcClient(texts: Texts): { take: (text: string) => void; client: Client } {
  const both = peer(texts)
  let take: (value: Message) => void = () => undefined
  both.addMethod('value', (value: Message) => take(value))
  const client: Client = {
    echo: async given => (await both.request('echo', given)) as Message,
    async stream(count, each) {
      take = each
      await both.request('stream', { count })
    },
  }
  return { take: text => void both.receiveAndSend(JSON.parse(text)), client }
}

export const jsonRpcUnix: Side = {
  serve: place =>
    listenFramed(place, socket => {
      const framed: Framed = new Framed(socket, text => answer(text))
      const answer = serveJsonRpc(framed)
    }),
  async connect(place) {
    const framed: Framed = new Framed(await connectFramed(place), text => made.take(text))
    const made = jsonRpcClient(framed)
    return made.client
  },
}

export const jsonRpcWebSocket: Side = {
  serve: place => listenMessages(place, serveJsonRpc),
  async connect(place) {
    const messages = await connectMessages(place)
    const { take, client } = jsonRpcClient(messages)
    messages.listen(take)
    return client
  },
}
