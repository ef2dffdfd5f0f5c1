// NATS: request and reply through its server, which is a third process; TCP, since its clients speak nothing else. A
// stream is many messages to the inbox of the one who asked. JSON both ways, as its documentation shows.
import { execFileSync, spawnSync } from 'node:child_process'
import { connect, createInbox, type NatsConnection } from '@nats-io/transport-node'
import type { Leftovers } from '../../kernel-peers/leftovers.ts'
import { installedVersion, startServer } from '../../kernel-peers/server.ts'
import { type Message, message, type Place, type Side } from '../side.ts'

const SUBJECT = { echo: 'bench.echo', stream: 'bench.stream' }
/** Values between two flushes: the server's answer to one shows that it has taken what came before. */
const VALUES_AT_ONCE = 1024

const dial = ({ port }: Place): Promise<NatsConnection> => connect({ servers: `127.0.0.1:${port}` })

export const natsTcp: Side = {
  async serve(place) {
    const connection = await dial(place)
    connection.subscribe(SUBJECT.echo, {
      callback: (_error, request) => void request.respond(JSON.stringify(request.json<Message>())),
    })
    const stream = async (inbox: string, count: number) => {
      for (let seq = 0; seq < count; seq++) {
        connection.publish(inbox, JSON.stringify(message(seq)))
        if (seq % VALUES_AT_ONCE === VALUES_AT_ONCE - 1) await connection.flush()
      }
    }
    connection.subscribe(SUBJECT.stream, {
      callback: (_error, request) => void stream(request.reply!, request.json<number>()),
    })
    await connection.flush()
  },
  async connect(place) {
    const connection = await dial(place)
    return {
      echo: async given =>
        (await connection.request(SUBJECT.echo, JSON.stringify(given), { timeout: 30_000 })).json<Message>(),
      async stream(count, take) {
        const inbox = createInbox()
        const done = new Promise<void>((resolve, reject) => {
          let left = count
          const subscription = connection.subscribe(inbox, {
            callback(error, value) {
              if (error) reject(error)
              else take(value.json<Message>())
              if (--left > 0) return
              subscription.unsubscribe()
              resolve()
            },
          })
        })
        connection.publish(SUBJECT.stream, JSON.stringify(count), { reply: inbox })
        await done
      },
    }
  },
}

/** Its server; says which versions they are. */
export async function startNats(leftovers: Leftovers, { folder, port }: Place): Promise<string> {
  if (spawnSync('nats-server', ['--version']).error) {
    throw new Error("there is no nats-server here; on Debian, 'apt-get install nats-server' brings it")
  }
  const version = execFileSync('nats-server', ['--version'], { encoding: 'utf8' })
  const healthy = async () => {
    try {
      await (await connect({ servers: `127.0.0.1:${port}`, reconnect: false })).close()
      return true
    } catch {
      return false
    }
  }
  await startServer(
    leftovers,
    'nats-server',
    ['-a', '127.0.0.1', '-p', String(port)],
    { cwd: folder },
    server => server.kill('SIGKILL'),
    healthy,
  )
  return `${installedVersion('@nats-io/transport-node')}, server ${/\d+(\.\d+)*/.exec(version)?.[0]}`
}
