// Where and how the surface opens: TLS off loopback, files of TLS, ports that are taken, deployment models.
import { chmodSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { selfSigned } from '@parley/call/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Node } from '../node.ts'
import { type Ground, ground, keptLog } from '../testing/ground.ts'
import { ON } from '../testing/http.ts'
import { startedNode } from '../testing/started.ts'

function tlsFiles(place: Ground, mode = 0o600) {
  const { cert, key } = selfSigned()
  const [certFile, keyFile] = [join(place.home, 'cert.pem'), join(place.home, 'key.pem')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  chmodSync(keyFile, mode)
  return { cert, flags: { 'http-tls-cert': certFile, 'http-tls-key': keyFile }, keyFile }
}

/** Status of a node with these flags. */
async function opened(flags: Readonly<Record<string, string>>, place = ground()) {
  const { node, log, client } = await startedNode({ place, flags: { ...ON, ...flags } })
  return { http: (await client.call('node', 'status', {})).http, log, node }
}

describe('TLS', () => {
  test.each(['0.0.0.0', '::', '192.0.2.1'])(
    'is needed on %s: without it the node starts, and HTTP does not',
    async host => {
      const { http, log } = await opened({ 'http-host': host })
      expect(http).toMatchObject({ at: null, problem: { code: 'http_needs_tls' } })
      expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', facts: { code: 'http_needs_tls' } }))
    },
  )

  test('is not needed on loopback', async () => {
    expect((await opened({ 'http-host': 'localhost' })).http).toMatchObject({
      at: expect.stringMatching(/^http:/),
      problem: null,
    })
  })

  test.each([0o644, 0o640, 0o604])('a key with mode %o is not used', async mode => {
    const place = ground()
    const { flags, keyFile } = tlsFiles(place, mode)
    const { http } = await opened(flags, place)
    expect(http).toMatchObject({
      at: null,
      problem: { code: 'http_key_exposed', message: expect.stringContaining(keyFile) },
    })
  })

  test('files that are missing, no certificates, or of another key are told', async () => {
    const place = ground()
    const { flags } = tlsFiles(place)
    const only = { 'http-tls-cert': flags['http-tls-cert'] }
    expect((await opened(only, place)).http?.problem?.code).toBe('http_tls_incomplete')
    const missing = { ...flags, 'http-tls-cert': join(place.home, 'none.pem') }
    expect((await opened(missing, ground())).http?.problem?.code).toBe('http_tls_unusable')
    writeFileSync(flags['http-tls-cert'], selfSigned().cert)
    expect((await opened(flags, ground())).http?.problem).toMatchObject({
      code: 'http_tls_unusable',
      message: expect.stringContaining('does not belong'),
    })
  })

  test('serves over it, with its own names, and plain HTTP gets nothing', async () => {
    const place = ground()
    const { flags, cert } = tlsFiles(place)
    const { http } = await opened(flags, place)
    expect(http?.at).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    const status = (path: string, ca: string | undefined) =>
      new Promise(resolve => {
        const sent = request(`${http?.at}${path}`, { ca, agent: false }, response =>
          resolve(response.resume().statusCode),
        )
        sent.on('error', ({ message }) => resolve(message))
        sent.end()
      })
    expect(await status('/healthz', cert)).toBe(200)
    expect(await status('/healthz', undefined)).toMatch(/self[- ]signed/)
    await expect(fetch(`http://127.0.0.1:${new URL(http!.at!).port}/healthz`)).rejects.toThrow()
  })

  test('with authorities for clients, one without a certificate is not served', async () => {
    const place = ground()
    const { flags, cert } = tlsFiles(place)
    const { http } = await opened({ ...flags, 'http-tls-client-ca': flags['http-tls-cert'] }, place)
    const refused = new Promise(resolve => {
      const sent = request(`${http?.at}/healthz`, { ca: cert, agent: false }, () => resolve('served'))
      sent.on('error', () => resolve('refused'))
      sent.end()
    })
    expect(await refused).toBe('refused')
  })
})

test('a port that is taken is told, and the node goes on without HTTP', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await new Promise(resolve => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const { http, node } = await opened({ 'http-port': String(port) })
  expect(http).toMatchObject({
    at: null,
    problem: { code: 'http_port_in_use', message: expect.stringContaining(String(port)) },
  })
  expect((await node.status()).pid).toBe(process.pid)
})

test.each(['shared-infrastructure', 'zero-trust'])(
  'W-SEC-16 under %s no node starts with HTTP but over TLS with certificates on both sides',
  async deployment => {
    const place = ground()
    const { flags } = tlsFiles(place)
    const start = (more: Readonly<Record<string, string>>) =>
      Node.start({
        config: place.config({ ...ON, deployment, ...more }),
        log: keptLog(),
        startedBy: 'up',
        env: place.env,
      })
    for (const more of [{}, flags]) {
      const refused = await start(more)
      expect(refused).toMatchObject({
        ok: false,
        error: { code: 'unsupported', details: { reason: 'unmet_deployment_model' } },
      })
    }
    const node = await start({ ...flags, 'http-tls-client-ca': flags['http-tls-cert'] })
    if (!node.ok) throw node.error
    expect((await node.value.status()).http).toMatchObject({ problem: null })
    await node.value.stop('the test is over')
  },
)
