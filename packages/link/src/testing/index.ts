// What tests and benchmarks of other packages reach below the client and the server: dialling, the handshake, keys.
export { dialNoise } from '../client/dial.ts'
export { parseAddress } from '../client/target.ts'
export { x25519Image } from '../identity/curve.ts'
export { identityFromSeed, publicKeyOf } from '../identity/identity.ts'
export { Initiator } from '../noise/handshake.ts'
