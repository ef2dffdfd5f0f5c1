// Connections that are used again (ALP-TCP-07), with servers that keep them and with those that do not.
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { linkDefaults } from '../limits.ts'
import { failure, Ground } from '../testing/ground.ts'
import { misbehaving } from '../testing/misbehaving.ts'

describe('a session', () => {
  /** How many connections a ground's server has seen, by the ports they came from. */
  function counting() {
    const remotes = new Set<string>()
    const handler = (_: unknown, { remote }: { readonly remote: string | undefined }) => {
      remotes.add(remote!)
      return { result: {} }
    }
    return { remotes, handler }
  }

  test('ALP-TCP-07 uses its connection again, until it was idle for a minute', async () => {
    const { remotes, handler } = counting()
    const ground = await Ground.start({ handler })
    const session = ground.client().session(ground.target('tcp'))
    for (let times = 0; times < 3; times++) {
      const call = session.call('x')
      // The first time it looks whether the server would rather close.
      if (times === 1) ground.pass(linkDefaults.settleMs)
      expect((await call).ok).toBe(true)
      ground.pass(linkDefaults.clientIdleMs - linkDefaults.settleMs - 1)
    }
    expect(remotes.size).toBe(1)
    ground.pass(linkDefaults.settleMs)
    ground.pass(1)
    expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(2)
    session.close()
  })

  test('ALP-TCP-07 takes a new connection where the server closed the old one', async () => {
    const { remotes, handler } = counting()
    const ground = await Ground.start({ handler })
    const session = ground.client().session(ground.target('tcp'))
    const { port } = ground.server
    await session.call('x')
    await ground.server.close()
    expect(await session.call('x')).toMatchObject(failure('target-offline'))
    await ground.listen({ handler, tcp: { host: '127.0.0.1', port: port! } })
    expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(2)
    session.close()
  })

  test('ALP-TCP-07 never sends a request twice: one whose connection breaks has failed', async () => {
    let asked = 0
    const sockets: Socket[] = []
    const ground = await Ground.start({
      handler: () => {
        asked++
        for (const socket of sockets) socket.destroy()
        return new Promise(() => undefined)
      },
    })
    // Something between the two that can break.
    const target = await misbehaving('tcp', async socket => {
      const { socket: onward } = await ground.raw('tcp')
      sockets.push(socket, onward)
      socket.pipe(onward).pipe(socket)
    })
    expect(await ground.client().session(target).call('x')).toMatchObject(failure('link_empty_response'))
    expect(asked).toBe(1)
  })

  test('ALP-TCP-07 has one request at a time', async () => {
    const release = Promise.withResolvers<void>()
    const ground = await Ground.start({
      handler: async () => {
        await release.promise
        return { result: 'done' }
      },
    })
    const session = ground.client().session(ground.target('tcp'))
    const first = session.call('x')
    expect(await session.call('x')).toMatchObject(failure('link_busy'))
    release.resolve()
    expect(await first).toMatchObject({ ok: true, value: 'done' })
    session.close()
  })

  test('ALP-TCP-07 works with a server that closes after one exchange', async () => {
    const ground = await Ground.start()
    const { remotes } = counting()
    // Cuts the connection when the answer has passed, as early servers do.
    const target = await misbehaving('tcp', async socket => {
      const { socket: onward } = await ground.raw('tcp')
      remotes.add(String(socket.remotePort))
      socket.pipe(onward)
      let seen = 0
      onward.on('data', (chunk: Buffer) => {
        seen += chunk.length
        socket.write(chunk)
        // Handshake, then the whole answer.
        if (seen > 50 + 100) socket.end()
      })
    })
    const session = ground.client().session(target)
    for (let times = 0; times < 3; times++) expect((await session.call('x')).ok).toBe(true)
    expect(remotes.size).toBe(3)
    session.close()
  })
})
