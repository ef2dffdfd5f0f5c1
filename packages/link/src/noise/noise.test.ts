// Noise (ALP-NOISE): the worked vectors, a published vector of the pattern, and an implementation by others.
import { expect, test } from 'vitest'
import { framed } from '../testing/ground.ts'
import { type ForeignCipher, loadNoiseC } from '../testing/noise-c.ts'
import { hex, identityOf, publishedNoise, vectors } from '../testing/vectors.ts'
import { CipherState, TAG_BYTES } from './cipher.ts'
import { Initiator, keyPairOf, MESSAGE_BYTES, newKeyPair, Responder, type Session } from './handshake.ts'
import { PROTOCOL_NAME, SymmetricState } from './symmetric.ts'

const vector = vectors.noise_xk

const [alice, bob] = [identityOf('alice').noise, identityOf('bob').noise]
const dialling = () => new Initiator(alice, bob.publicKey)

/** A whole handshake in memory, with its three messages. */
function shake(initiator = dialling(), responder = new Responder(bob)) {
  const first = initiator.first()!
  expect(responder.first(first)).toEqual(Buffer.alloc(0))
  const second = responder.second()!
  expect(initiator.second(second)).toEqual(Buffer.alloc(0))
  const third = initiator.third()!
  const last = responder.third(third.message)!
  return { messages: [first, second, third.message] as const, dialler: third.session, dialled: last.session }
}

function vectorHandshake() {
  const pair = (side: 'initiator' | 'responder', kind: 'static' | 'ephemeral') =>
    keyPairOf(hex(vector[`${side}_${kind}_priv_hex`]))
  const [ours, theirs] = [pair('initiator', 'ephemeral'), pair('responder', 'ephemeral')]
  return shake(
    new Initiator(pair('initiator', 'static'), hex(vector.responder_static_pub_hex), { ephemeral: ours }),
    new Responder(pair('responder', 'static'), { ephemeral: theirs }),
  )
}

function seal(cipher: CipherState, plaintext: string): Buffer {
  const target = Buffer.alloc(Buffer.byteLength(plaintext) + TAG_BYTES)
  cipher.encrypt(target, Buffer.from(plaintext))
  return target
}

test('ALP-NOISE-01 the name of the protocol is the first hash', () => {
  expect(PROTOCOL_NAME).toBe(vector.protocol)
  expect(new SymmetricState().handshakeHash.toString('ascii')).toBe('Noise_XK_25519_ChaChaPoly_SHA256')
})

test('ALP-NOISE-02 an empty prologue and the responder’s key are mixed in first', () => {
  const state = new SymmetricState()
  state.mixHash(Buffer.alloc(0))
  state.mixHash(hex(vector.responder_static_pub_hex))
  expect(state.handshakeHash.toString('hex')).toBe(vector.h_after_premessage_hex)
})

test('ALP-NOISE-03 the static keys are the images of the identities', () => {
  expect(Buffer.from(identityOf('alice').noise.secretKey).toString('hex')).toBe(vector.initiator_static_priv_hex)
  expect(identityOf('bob').noise.publicKey.toString('hex')).toBe(vector.responder_static_pub_hex)
  expect(shake().dialled.remoteStatic.equals(alice.publicKey)).toBe(true)
})

test('ALP-NOISE-04 the three messages are those of the vector, with empty payloads', () => {
  const { messages, dialler, dialled } = vectorHandshake()
  expect(messages.map(message => message.length)).toEqual([...MESSAGE_BYTES])
  expect([...MESSAGE_BYTES]).toEqual([48, 48, 64])
  expect(messages.map(message => framed(2, message).toString('hex'))).toEqual([
    vector.frame1_hex,
    vector.frame2_hex,
    vector.frame3_hex,
  ])
  for (const { hash } of [dialler, dialled]) expect(hash.toString('hex')).toBe(vector.handshake_hash_hex)
})

test('ALP-NOISE-05 a published vector with prologue and payloads comes out to the byte', () => {
  const prologue = hex(publishedNoise.init_prologue)
  const initiator = new Initiator(keyPairOf(hex(publishedNoise.init_static)), hex(publishedNoise.init_remote_static), {
    prologue,
    ephemeral: keyPairOf(hex(publishedNoise.init_ephemeral)),
  })
  const responder = new Responder(keyPairOf(hex(publishedNoise.resp_static)), {
    prologue,
    ephemeral: keyPairOf(hex(publishedNoise.resp_ephemeral)),
  })
  const [one, two, three, four, five] = publishedNoise.messages.map(({ payload, ciphertext }) => ({
    payload: hex(payload),
    ciphertext,
  }))
  const first = initiator.first(one!.payload)!
  expect(first.toString('hex')).toBe(one!.ciphertext)
  expect(responder.first(first)).toEqual(one!.payload)
  const second = responder.second(two!.payload)!
  expect(second.toString('hex')).toBe(two!.ciphertext)
  expect(initiator.second(second)).toEqual(two!.payload)
  const third = initiator.third(three!.payload)!
  expect(third.message.toString('hex')).toBe(three!.ciphertext)
  const last = responder.third(third.message)!
  expect(last.payload).toEqual(three!.payload)
  // In the published order the responder speaks next.
  for (const [part, from, to] of [
    [four!, last.session, third.session],
    [five!, third.session, last.session],
  ] as const) {
    const ciphertext = Buffer.alloc(part.payload.length + TAG_BYTES)
    from.sending.encrypt(ciphertext, part.payload)
    expect(ciphertext.toString('hex')).toBe(part.ciphertext)
    expect(to.receiving.decrypt(ciphertext)).toEqual(part.payload)
  }
})

test('ALP-NOISE-06 frames are sealed under four zero bytes and the little-endian counter, without associated data', () => {
  const keys = {
    'initiator to responder': hex(vector.key_initiator_to_responder_hex),
    'responder to initiator': hex(vector.key_responder_to_initiator_hex),
  }
  expect(vector.transport).toHaveLength(4)
  for (const { direction, counter, plaintext, frame_hex } of vector.transport) {
    const ciphertext = seal(new CipherState(keys[direction], BigInt(counter)), plaintext)
    expect(framed(4, ciphertext).toString('hex')).toBe(frame_hex)
    expect(new CipherState(keys[direction], BigInt(counter)).decrypt(ciphertext)?.toString()).toBe(plaintext)
  }
})

test('ALP-NOISE-07 each direction has its key and counts by itself, from zero', () => {
  const { dialler, dialled } = vectorHandshake()
  const [first, reply, second, far] = vector.transport
  expect(seal(dialler.sending, first!.plaintext).toString('hex')).toBe(first!.frame_hex.slice(8))
  expect(seal(dialled.sending, reply!.plaintext).toString('hex')).toBe(reply!.frame_hex.slice(8))
  expect(seal(dialler.sending, second!.plaintext).toString('hex')).toBe(second!.frame_hex.slice(8))
  for (let counter = 2; counter < far!.counter; counter++) seal(dialler.sending, 'x')
  expect(seal(dialler.sending, far!.plaintext).toString('hex')).toBe(far!.frame_hex.slice(8))
  expect(dialled.receiving.decrypt(hex(first!.frame_hex.slice(8)))?.toString()).toBe(first!.plaintext)
})

test('ALP-NOISE-07 a counter that is used up is fatal, both ways', () => {
  const last = new CipherState(Buffer.alloc(32, 1), 2n ** 64n - 2n)
  const sealed = seal(last, 'the last one')
  expect(() => seal(last, 'one too many')).toThrow('used all its counters')
  const reader = new CipherState(Buffer.alloc(32, 1), 2n ** 64n - 2n)
  expect(reader.decrypt(sealed)?.toString()).toBe('the last one')
  expect(() => reader.decrypt(sealed)).toThrow('used all its counters')
})

test('ALP-NOISE-07 a frame is taken once, in its place, and unaltered', () => {
  const { dialler, dialled } = vectorHandshake()
  const [one, two] = [seal(dialler.sending, 'one'), seal(dialler.sending, 'two')]
  expect(dialled.receiving.decrypt(two)).toBeUndefined()
  expect(dialled.receiving.decrypt(one)?.toString()).toBe('one')
  expect(dialled.receiving.decrypt(one)).toBeUndefined()
  const altered = Buffer.from(two)
  altered[0]! ^= 1
  expect(dialled.receiving.decrypt(altered)).toBeUndefined()
  expect(dialled.receiving.decrypt(two)?.toString()).toBe('two')
  for (const length of [0, 1, TAG_BYTES - 1, TAG_BYTES])
    expect(dialled.receiving.decrypt(Buffer.alloc(length))).toBeUndefined()
})

test('ALP-NOISE-08 a short message, a wrong tag, a degenerate key: failure at every step', () => {
  const flipped = (message: Buffer, at: number) => {
    const copy = Buffer.from(message)
    copy[at]! ^= 1
    return copy
  }
  const zero = Buffer.alloc(32)
  const fresh = () => [new Initiator(alice, bob.publicKey), new Responder(bob)] as const

  for (const spoil of [
    (message: Buffer) => message.subarray(0, 47),
    () => Buffer.alloc(0),
    (message: Buffer) => flipped(message, 0),
    (message: Buffer) => flipped(message, 47),
    (message: Buffer) => Buffer.concat([zero, message.subarray(32)]),
  ]) {
    const [initiator, responder] = fresh()
    expect(responder.first(spoil(initiator.first()!))).toBeUndefined()
    const [other, answering] = fresh()
    answering.first(other.first()!)
    expect(other.second(spoil(answering.second()!))).toBeUndefined()
  }
  for (const at of [0, 31, 47, 48, 63]) {
    const [initiator, responder] = fresh()
    responder.first(initiator.first()!)
    initiator.second(responder.second()!)
    expect(responder.third(flipped(initiator.third()!.message, at))).toBeUndefined()
  }
  const [initiator, responder] = fresh()
  responder.first(initiator.first()!)
  initiator.second(responder.second()!)
  expect(responder.third(initiator.third()!.message.subarray(0, 63))).toBeUndefined()
  // Dialling a degenerate key: an all-zero secret.
  expect(new Initiator(alice, zero).first()).toBeUndefined()
})

test('ALP-NOISE-08 who does not hold the key that was dialled cannot answer', () => {
  expect(new Responder(identityOf('carol').noise).first(dialling().first()!)).toBeUndefined()
})

test('a prologue of its own keeps another protocol apart', () => {
  const prologue = Buffer.from('parley-call/1')
  const first = new Initiator(alice, bob.publicKey, { prologue }).first()!
  expect(new Responder(bob).first(first)).toBeUndefined()
  expect(new Responder(bob, { prologue }).first(first)).toEqual(Buffer.alloc(0))
})

test('ephemeral keys are new for every handshake', () => {
  const keys = Array.from({ length: 20 }, () => newKeyPair().publicKey.toString('hex'))
  expect(new Set(keys).size).toBe(20)
})

test('the ephemeral keys of a handshake are erased when it is done', () => {
  const [ours, theirs] = [newKeyPair(), newKeyPair()]
  shake(new Initiator(alice, bob.publicKey, { ephemeral: ours }), new Responder(bob, { ephemeral: theirs }))
  for (const { secretKey } of [ours, theirs]) expect(secretKey).toEqual(Buffer.alloc(32))
})

test('a stolen key does not let its thief pose as somebody else towards its owner', () => {
  // As a caller: the thief of bob's key knows alice's public key, and has any private one.
  for (const secret of [bob, newKeyPair()]) {
    const initiator = new Initiator({ ...secret, publicKey: alice.publicKey }, bob.publicKey)
    const responder = new Responder(bob)
    expect(responder.first(initiator.first()!)).toEqual(Buffer.alloc(0))
    expect(initiator.second(responder.second()!)).toEqual(Buffer.alloc(0))
    expect(responder.third(initiator.third()!.message)).toBeUndefined()
  }
  // As whoever is called: alice's own key does not answer a call of hers to bob.
  expect(new Responder({ ...alice, publicKey: bob.publicKey }).first(dialling().first()!)).toBeUndefined()
})

test('what was recorded of one connection opens in no other, though both ends have the same keys', () => {
  const [recorded, later] = [shake(), shake()]
  const frame = seal(recorded.dialler.sending, 'said once')
  expect(later.dialled.receiving.decrypt(frame)).toBeUndefined()
  expect(recorded.dialled.receiving.decrypt(frame)?.toString()).toBe('said once')
  // Nor do recorded messages of a handshake fit another one, whose other side has new ephemeral keys.
  const [first, , third] = recorded.messages
  const replayed = new Responder(bob)
  expect(replayed.first(first)).toEqual(Buffer.alloc(0))
  replayed.second()
  expect(replayed.third(third)).toBeUndefined()
})

function talk(ours: Session, [sending, receiving]: [ForeignCipher, ForeignCipher]): void {
  const nothing = new Uint8Array(0)
  for (let turn = 0; turn < 5; turn++) {
    const said = Buffer.from(`message ${turn} ${'ä'.repeat(turn * 100)}`)
    expect(ours.receiving.decrypt(Buffer.from(sending.EncryptWithAd(nothing, said)))?.equals(said)).toBe(true)
    expect(Buffer.from(receiving.DecryptWithAd(nothing, seal(ours.sending, said.toString()))).equals(said)).toBe(true)
  }
}

test('ALP-NOISE-05 a handshake with noise-c, an implementation by others, ours dialling', async () => {
  const noise = await loadNoiseC()
  const theirs = noise.HandshakeState(PROTOCOL_NAME, noise.constants.NOISE_ROLE_RESPONDER)
  theirs.Initialize(new Uint8Array(0), Uint8Array.from(bob.secretKey))
  const ours = dialling()
  theirs.ReadMessage(ours.first()!, false)
  expect(ours.second(Buffer.from(theirs.WriteMessage()))).toEqual(Buffer.alloc(0))
  const { message, session } = ours.third()!
  theirs.ReadMessage(message, false)
  expect(Buffer.from(theirs.GetHandshakeHash()).subarray(0, 32).equals(session.hash)).toBe(true)
  talk(session, theirs.Split())
})

test('ALP-NOISE-05 a handshake with noise-c, theirs dialling', async () => {
  const noise = await loadNoiseC()
  const theirs = noise.HandshakeState(PROTOCOL_NAME, noise.constants.NOISE_ROLE_INITIATOR)
  theirs.Initialize(new Uint8Array(0), Uint8Array.from(alice.secretKey), Uint8Array.from(bob.publicKey))
  const ours = new Responder(bob)
  expect(ours.first(Buffer.from(theirs.WriteMessage()))).toEqual(Buffer.alloc(0))
  theirs.ReadMessage(ours.second()!, false)
  const { session } = ours.third(Buffer.from(theirs.WriteMessage()))!
  expect(session.remoteStatic.equals(alice.publicKey)).toBe(true)
  talk(session, theirs.Split())
})
