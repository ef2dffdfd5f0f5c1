// A caller over TCP that speaks for itself, for tests: handshake and frames by hand, so that it can say what no client says.
import { Scribe } from '../envelope/envelope.ts'
import { parseWire } from '../json/parse.ts'
import type { WireObject } from '../json/value.ts'
import { TAG_BYTES } from '../noise/cipher.ts'
import { Initiator, type Session } from '../noise/handshake.ts'
import { framed, type Ground, type RawPeer } from './ground.ts'
import { identityOf } from './vectors.ts'

export class Caller {
  readonly peer: RawPeer
  readonly session: Session
  readonly scribe: Scribe
  readonly #ground: Ground

  static async of(ground: Ground, name = 'alice'): Promise<Caller> {
    const peer = await ground.raw('tcp')
    const initiator = new Initiator(identityOf(name).noise, ground.identity.noise.publicKey)
    peer.write(framed(2, initiator.first()!))
    if (!initiator.second(await peer.frame(2))) throw new Error('the handshake failed')
    const { message, session } = initiator.third()!
    peer.write(framed(2, message))
    return new Caller(peer, session, ground, name)
  }

  private constructor(peer: RawPeer, session: Session, ground: Ground, name: string) {
    this.peer = peer
    this.session = session
    this.#ground = ground
    this.scribe = new Scribe(identityOf(name), ground.clock)
  }

  request(params: WireObject = {}, scribe = this.scribe): Buffer {
    return scribe.request(this.#ground.identity.id, scribe.newId(), 'link.ping', params)
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
}
