// Whom a request is for, and whose page sent it: decided on the headers Host and Origin, before anything else. A page
// that has a name of its own point to this machine (DNS rebinding) sends that name as Host, and is refused by it.
import { isIP } from 'node:net'

export interface Authority {
  /** In lower case; an IPv6 address without its brackets. */
  readonly host: string
  readonly port: number | undefined
}

/** `localhost:7424`, `[::1]`, `parley.example.com`; undefined for anything else. */
export function readAuthority(text: string): Authority | undefined {
  const [, name = '', six, digits] = /^(?:([\w.-]+)|\[([\da-f:.]+)\])(?::(\d{1,5}))?$/i.exec(text) ?? []
  if (six !== undefined ? isIP(six) !== 6 : !/^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/i.test(name)) return undefined
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  return { host: (six ?? name).toLowerCase(), port }
}

/** Only what a browser sends as `Origin`: scheme, host, and a port that is not the usual one. */
export function isOrigin(text: string): boolean {
  try {
    const { origin, protocol } = new URL(text)
    return origin === text && (protocol === 'https:' || protocol === 'http:')
  } catch {
    return false
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

const ANY = ['0.0.0.0', '::']
const OF_LOOPBACK = ['localhost', '127.0.0.1', '::1']

export interface Place {
  readonly host: string
  readonly port: number
  readonly tls: boolean
}

export class OwnNames {
  readonly #place: Place
  readonly #usual: number
  readonly #hosts: ReadonlySet<string>
  readonly #named: readonly Authority[]

  /** `names`: further ones, as configured. */
  constructor(place: Place, names: readonly string[]) {
    this.#place = place
    this.#usual = place.tls ? 443 : 80
    const own = isLoopback(place.host) || ANY.includes(place.host) ? [...OF_LOOPBACK, place.host] : [place.host]
    this.#hosts = new Set(own.filter(host => !ANY.includes(host)))
    this.#named = names.flatMap(name => readAuthority(name) ?? [])
  }

  /** Whether a request with this Host is for this node. */
  isOwn(header: string | undefined): boolean {
    const asked = header === undefined ? undefined : readAuthority(header)
    if (!asked) return false
    const port = asked.port ?? this.#usual
    if (this.#hosts.has(asked.host) && port === this.#place.port) return true
    return this.#named.some(each => {
      if (each.host !== asked.host) return false
      // A proxy listens where it likes, and says so in the configuration; without a port it is the usual one, or ours.
      return each.port === undefined
        ? port === this.#place.port || port === this.#usual || port === 443
        : each.port === port
    })
  }

  /** Whether the page is this node's own. */
  isOwnOrigin(origin: string): boolean {
    if (!isOrigin(origin)) return false
    const { protocol, host } = new URL(origin)
    if (protocol === (this.#place.tls ? 'https:' : 'http:')) return this.isOwn(host)
    // Behind a proxy that ends TLS.
    const asked = readAuthority(host)
    return asked !== undefined && protocol === 'https:' && this.#named.some(each => each.host === asked.host)
  }
}

/** `http://127.0.0.1:7424` */
export function addressOf({ host, port, tls }: Place): string {
  return `${tls ? 'https' : 'http'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
