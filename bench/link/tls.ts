// TLS 1.3 on node:tls with a certificate on each side, as fast as it can be had: contexts made once, X25519 alone for
// the exchange (no hybrid with a second one), no tickets, so that no handshake is a resumed one. Both ends in this
// process.
import { constants } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect, createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { type CertificateKind, selfSigned } from '../../packages/call/src/testing/certificate.ts'
import { type Carrier, pumped } from './carrier.ts'
import { HOST } from './profile.ts'

export interface TlsOptions {
  readonly name: string
  readonly certificates: CertificateKind
  /** The cipher; the platform's own first choice without it. */
  readonly cipher?: string
}

const VERSION = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3', ecdhCurve: 'X25519' } as const

export class TlsCarrier implements Carrier {
  readonly name: string
  readonly #server: Server
  readonly #context: SecureContext
  readonly #arrivals: ((socket: TLSSocket) => void)[] = []

  static async start(options: TlsOptions): Promise<TlsCarrier> {
    const [server, client] = [selfSigned(options.certificates), selfSigned(options.certificates)]
    const choice = options.cipher === undefined ? {} : { ciphers: options.cipher }
    const listening = createServer({
      ...VERSION,
      ...choice,
      ...server,
      ca: client.cert,
      requestCert: true,
      rejectUnauthorized: true,
      secureOptions: constants.SSL_OP_NO_TICKET,
    })
    const context = createSecureContext({ ...VERSION, ...choice, ...client, ca: server.cert })
    await new Promise<void>(resolve => listening.listen(0, HOST, () => resolve()))
    return new TlsCarrier(options.name, listening, context)
  }

  private constructor(name: string, server: Server, context: SecureContext) {
    this.name = name
    this.#server = server
    this.#context = context
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => undefined)
      this.#arrivals.shift()!(socket)
    })
    server.on('tlsClientError', cause => {
      throw cause
    })
  }

  async shake(): Promise<void> {
    const { client, server } = await this.#connected()
    if (!server.authorized || client.isSessionReused()) throw new Error('not the handshake that was asked for')
    const closed = Promise.all([client, server].map(end => new Promise(resolve => end.once('close', resolve))))
    client.destroy()
    server.destroy()
    await closed
  }

  async pump(chunk: Buffer, milliseconds: number): Promise<number> {
    const { client, server } = await this.#connected()
    return pumped(client, server, chunk, milliseconds)
  }

  close(): Promise<void> {
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  async #connected(): Promise<{ readonly client: TLSSocket; readonly server: TLSSocket }> {
    const arriving = new Promise<TLSSocket>(resolve => this.#arrivals.push(resolve))
    const { port } = this.#server.address() as AddressInfo
    const client = connect({ host: HOST, port, servername: 'localhost', secureContext: this.#context })
    client.setNoDelay(true)
    await new Promise<void>((resolve, reject) => client.once('secureConnect', resolve).once('error', reject))
    return { client, server: await arriving }
  }
}
