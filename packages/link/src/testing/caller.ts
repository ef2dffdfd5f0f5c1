// A caller over TCP that speaks for itself, for tests: handshake and frames by hand, so that it can say what no client
// says.
import { connect } from 'node:net'
import type { Clock } from '@parley/core'
import { Scribe } from '../envelope/envelope.ts'
import type { LinkIdentity } from '../identity/identity.ts'
import { parseWire } from '../json/parse.ts'
import type { WireObject } from '../json/value.ts'
import { TAG_BYTES } from '../noise/cipher.ts'
import { Initiator, type Session } from '../noise/handshake.ts'
import { framed, RawPeer } from './ground.ts'
import { identityOf } from './vectors.ts'

/** What is called: a ground, or a whole profile. */
export interface Called {
  readonly identity: LinkIdentity
  readonly clock: Clock
  readonly server: { readonly port: number | undefined }
}

export class Caller {
  readonly peer: RawPeer
  readonly session: Session
  readonly scribe: Scribe
  readonly #called: Called

  /** `watch` sees the connection before anything is said. */
  static async of(called: Called, name = 'alice', watch: (peer: RawPeer) => void = () => {}): Promise<Caller> {
    const peer = await RawPeer.connected(connect(called.server.port!, '127.0.0.1'))
    watch(peer)
    const initiator = new Initiator(identityOf(name).noise, called.identity.noise.publicKey)
    peer.write(framed(2, initiator.first()!))
    if (!initiator.second(await peer.frame(2))) throw new Error('the handshake failed')
    const { message, session } = initiator.third()!
    peer.write(framed(2, message))
    return new Caller(peer, session, called, name)
  }

  private constructor(peer: RawPeer, session: Session, called: Called, name: string) {
    this.peer = peer
    this.session = session
    this.#called = called
    this.scribe = new Scribe(identityOf(name), called.clock)
  }

  request(params: WireObject = {}, method = 'link.ping', scribe = this.scribe): Buffer {
    return scribe.request(this.#called.identity.id, scribe.newId(), method, params)
  }

  sealed(plaintext: Buffer): Buffer {
    const ciphertext = Buffer.alloc(plaintext.length + TAG_BYTES)
    this.session.sending.encrypt(ciphertext, plaintext)
    return framed(4, ciphertext)
  }

  say(plaintext: Buffer): void {
    this.peer.write(this.sealed(plaintext))
  }

  async hear(): Promise<WireObject> {
    const plaintext = this.session.receiving.decrypt(await this.peer.frame(4))
    if (!plaintext) throw new Error('a frame that is not for us')
    return parseWire(plaintext) as WireObject
  }

  /** One request and its answer. */
  ask(...request: Parameters<Caller['request']>): Promise<WireObject> {
    this.say(this.request(...request))
    return this.hear()
  }
}
