// Certificate and key of the surface. The key is read only from a file that nobody else can read.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { lstatSync, statSync } from 'node:fs'
import { err, ok, ParleyError, type Result, refuse } from '@parley/core'
import { machineDisk } from '@parley/keys/files'
import type { SettingValues } from '../config/settings.ts'
import { httpLimits } from './limits.ts'
import { isLoopback } from './names.ts'

export interface Tls {
  readonly cert: Buffer
  readonly key: Buffer
  /** Clients must show a certificate that one of these authorities signed. */
  readonly ca?: Buffer
}

type HttpValues = Pick<SettingValues, 'httpHost' | 'httpTlsCert' | 'httpTlsKey' | 'httpTlsClientCa'>

/**
 * Undefined where there is to be no TLS. Refusals: `http_needs_tls` for an address that others can reach,
 * `http_tls_incomplete`, `http_key_exposed`, `http_tls_unusable`.
 */
export function readTls({ httpHost, httpTlsCert, httpTlsKey, httpTlsClientCa }: HttpValues): Result<Tls | undefined> {
  if (httpTlsCert === undefined && httpTlsKey === undefined && httpTlsClientCa === undefined) {
    if (isLoopback(httpHost)) return ok(undefined)
    return refuse(
      'http_needs_tls',
      `HTTP is not opened on ${httpHost}: others can reach that address, and tokens would travel in plain text. Set http.tls_cert and http.tls_key in config.yaml, or listen on 127.0.0.1.`,
    )
  }
  if (httpTlsCert === undefined || httpTlsKey === undefined)
    return refuse('http_tls_incomplete', 'TLS needs both http.tls_cert and http.tls_key in config.yaml.')
  const exposed = exposure(httpTlsKey)
  if (exposed) return err(exposed)
  try {
    const cert = pem(httpTlsCert)
    const key = pem(httpTlsKey)
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      return unusable(`the key in ${httpTlsKey} does not belong to the certificate in ${httpTlsCert}`)
    return ok({ cert, key, ...(httpTlsClientCa !== undefined && { ca: pem(httpTlsClientCa) }) })
  } catch (cause) {
    return unusable((cause as Error).message)
  }
}

/** Links are followed: the file that is read counts, and who can write beside it is its owner's affair. */
function exposure(file: string): ParleyError | undefined {
  try {
    lstatSync(file)
    const { mode, uid } = statSync(file)
    const user = process.getuid?.()
    if (user === undefined || ((mode & 0o077) === 0 && (uid === user || uid === 0))) return undefined
    const message = `HTTP is not opened: the TLS key ${file} has mode ${(mode & 0o777).toString(8)}, so that others than you can use it. chmod 600 ${file}`
    return new ParleyError('http_key_exposed', message, { details: { file } })
  } catch (cause) {
    return new ParleyError('http_tls_unusable', `HTTP is not opened: ${(cause as Error).message}`, { cause })
  }
}

function pem(file: string): Buffer {
  const bytes = machineDisk.read(file, httpLimits.pemBytes)
  if (!bytes) throw new Error(`${file} is missing`)
  return bytes
}

function unusable(why: string): Result<never> {
  return refuse('http_tls_unusable', `HTTP is not opened, since its TLS files cannot be used: ${why}.`)
}
