import { linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { connectUnix, listenUnix } from './sockets.ts'
import type { Transport } from './transport.ts'

const folder = mkdtempSync(join(tmpdir(), 'parley-'))
afterAll(() => rmSync(folder, { recursive: true }))

const noOne = () => undefined
const DEAF = { envelope: noOne, violation: noOne, drain: noOne, closed: noOne }

test('a Unix socket is for its owner alone', async () => {
  const path = join(folder, 'own')
  const listening = await listenUnix(path, noOne)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  await listening.close()
})

test('a Unix socket that somebody listens on is not taken over', async () => {
  const path = join(folder, 'taken')
  const first = await listenUnix(path, noOne)
  await expect(listenUnix(path, noOne)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  const transport = await connectUnix(path)
  transport.close()
  await first.close()
})

test('a Unix socket that was left behind is replaced', async () => {
  const path = join(folder, 'left')
  const { promise, resolve } = Promise.withResolvers<void>()
  const server = createServer().listen(join(folder, 'first'), resolve)
  await promise
  // A killed process leaves its name behind; a second name does as well, since closing removes the first only.
  linkSync(join(folder, 'first'), path)
  await new Promise(done => server.close(done))
  const listening = await listenUnix(path, noOne)
  ;(await connectUnix(path)).close()
  await listening.close()
})

test('a file in the place of a Unix socket stays', async () => {
  const path = join(folder, 'file')
  writeFileSync(path, 'precious')
  await expect(listenUnix(path, noOne)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  expect(readFileSync(path, 'utf8')).toBe('precious')
})

test('what a closed transport was given still arrives when the server closes', async () => {
  const path = join(folder, 'farewell')
  const text = JSON.stringify({ type: 'note', id: '1', payload: 'x'.repeat(256 * 1024) })
  const served = Promise.withResolvers<Transport>()
  const listening = await listenUnix(path, served.resolve)
  const client = await connectUnix(path)
  const server = await served.promise
  server.start(DEAF)
  // More than the sockets' own buffers hold, while the client does not read.
  for (let sent = 0; sent < 8; sent++) server.send(text)
  server.close()
  const closed = listening.close()
  let came = 0
  const ended = new Promise<void>(resolve =>
    client.start({ ...DEAF, envelope: () => void came++, closed: () => resolve() }),
  )
  await Promise.all([ended, closed])
  expect(came).toBe(8)
})
