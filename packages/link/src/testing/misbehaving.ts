// A server for tests that does with a connection what it likes, on a Unix socket or on TCP.
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Target } from '../client/target.ts'
import type { Carrier } from '../transport/channel.ts'
import { temporaryFolder } from './homes.ts'
import { identityOf } from './vectors.ts'

/** Where it listens; whoever calls it takes it for bob. */
export async function misbehaving(carrier: Carrier, serve: (socket: Socket) => void): Promise<Target> {
  const server: Server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    serve(socket)
  })
  onTestFinished(() => void server.close())
  const path = join(temporaryFolder(), 's')
  await new Promise<void>(resolve => {
    if (carrier === 'unix') server.listen(path, () => resolve())
    else server.listen(0, '127.0.0.1', () => resolve())
  })
  const address = server.address()
  const at = typeof address === 'object' && address ? { host: '127.0.0.1', port: address.port } : { path }
  return { identity: identityOf('bob').id, at }
}
