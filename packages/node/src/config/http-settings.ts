// The settings of the HTTP surface: whether it is open, where, under which names, over TLS or not, and for the pages of
// which other origins.
import { isIP } from 'node:net'
import { Type } from '@parley/core'
import { httpDefaults, httpLimits } from '../http/limits.ts'
import { isOrigin, readAuthority } from '../http/names.ts'
import { nodeLimits } from '../limits.ts'
import { type About, folder, readInteger, type Setting, setting, yesOrNo } from './setting.ts'

/** A list in the file; elsewhere one text with spaces or commas. */
function list(
  key: string,
  most: number,
  expected: string,
  fits: (each: string) => boolean,
  about: About,
): Setting<readonly string[]> {
  return setting<readonly string[]>({
    key,
    schema: Type.Array(Type.String({ minLength: 1, maxLength: httpLimits.nameLength }), { maxItems: most, ...about }),
    fallback: [],
    expected,
    read: value => {
      const all = typeof value === 'string' ? value.split(/[\s,]+/).filter(each => each !== '') : value
      if (!Array.isArray(all) || all.length > most) return undefined
      return all.every(each => typeof each === 'string' && fits(each)) ? (all as string[]) : undefined
    },
    show: value => (value.length > 0 ? value.join(' ') : null),
  })
}

const file = (key: string, about: About) => folder(key, 'the absolute path of a file', about)

export const HTTP_SETTINGS = {
  httpOn: yesOrNo('http.on', false, {
    title: 'HTTP',
    description: 'Whether the node opens its HTTP surface: operations, metrics, API documentation.',
  }),
  httpHost: setting<string>({
    key: 'http.host',
    schema: Type.String({
      minLength: 1,
      maxLength: nodeLimits.hostLength,
      default: httpDefaults.host,
      title: 'Address',
      description: 'The address on which it listens. Any that is not of this machine alone needs TLS.',
    }),
    fallback: httpDefaults.host,
    expected: 'an IP address of this machine, or localhost, without a port',
    read: value => (typeof value === 'string' && (isIP(value) !== 0 || value === 'localhost') ? value : undefined),
  }),
  httpPort: setting<number>({
    key: 'http.port',
    schema: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: httpDefaults.port,
      title: 'Port',
      description: 'The port on which it listens. 0 takes one that is free.',
    }),
    fallback: httpDefaults.port,
    expected: 'a port from 1 to 65535, or 0 for one that is free',
    read: value => readInteger(value, 0, 65_535),
  }),
  httpNames: list(
    'http.names',
    httpLimits.names,
    `up to ${httpLimits.names} host names, with a port where it is another one`,
    each => readAuthority(each) !== undefined,
    {
      title: 'Names',
      description:
        'Further host names by which clients reach it, for instance that of a proxy, with a port where it is another one. Requests for any other host are refused.',
    },
  ),
  httpOrigins: list(
    'http.origins',
    httpLimits.origins,
    `up to ${httpLimits.origins} origins such as https://app.example.com`,
    isOrigin,
    {
      title: 'Origins',
      description:
        'Origins whose pages may send requests with tokens, such as https://app.example.com. None by default.',
    },
  ),
  httpTlsCert: file('http.tls_cert', {
    title: 'TLS certificate',
    description: 'A file with the certificate and its chain, in PEM, as an absolute path.',
  }),
  httpTlsKey: file('http.tls_key', {
    title: 'TLS key',
    description: 'A file with the private key, in PEM, as an absolute path. Nobody but you may be able to read it.',
  }),
  httpTlsClientCa: file('http.tls_client_ca', {
    title: 'TLS of clients',
    description:
      'A file with certificates of authorities, in PEM, as an absolute path. With it only clients whose certificate one of them signed can connect; the deployment models shared-infrastructure and zero-trust need it.',
  }),
} as const
