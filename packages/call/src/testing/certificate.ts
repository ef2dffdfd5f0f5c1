// A self-signed certificate for tests on loopback, with a new key: the few fields of X.509 that TLS needs, in DER.
// Node.js only.
import { generateKeyPairSync, sign } from 'node:crypto'

export interface TestCertificate {
  readonly key: string
  readonly cert: string
}

export const CERTIFICATE_KINDS = ['P-256', 'Ed25519'] as const
export type CertificateKind = (typeof CERTIFICATE_KINDS)[number]

/** For `localhost` and 127.0.0.1; good for a day around now. */
export function selfSigned(kind: CertificateKind = 'P-256'): TestCertificate {
  const { publicKey, privateKey } =
    kind === 'P-256' ? generateKeyPairSync('ec', { namedCurve: kind }) : generateKeyPairSync('ed25519')
  const algorithm = sequence(
    kind === 'P-256' ? oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02) : oid(0x2b, 0x65, 0x70),
  )
  const commonName = sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from('localhost')))
  const name = sequence(der(0x31, commonName))
  const day = 24 * 60 * 60_000
  const alternativeNames = sequence(
    oid(0x55, 0x1d, 0x11),
    der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))),
  )
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1),
    algorithm,
    name,
    sequence(time(Date.now() - day), time(Date.now() + day)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(alternativeNames)),
  )
  const signature = sign(kind === 'P-256' ? 'sha256' : null, content, privateKey)
  const certificate = sequence(content, algorithm, der(0x03, Buffer.from([0]), signature))
  const lines = certificate
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >>> 8, length & 0xff]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function oid(...bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes))
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.from([value]))
}

/** UTCTime: two digits of the year. */
function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/[-:T]|\.\d+/g, '')
  return der(0x17, Buffer.from(digits.slice(2)))
}
