// Where a profile is reached, as its owner tells others: the address that it listens on, and the name that it proposes
// for itself.
import { hostname, networkInterfaces } from 'node:os'
import { isPeerId } from '@parley/link'
import { userName } from '../identity.ts'

const EVERYWHERE: readonly string[] = ['0.0.0.0', '::']

/** `host:port`. Who listens everywhere is reached at an address of the machine. */
export function invitedAddress(host: string, port: number): string {
  const reached = EVERYWHERE.includes(host) ? (outside() ?? hostname()) : host
  return addressText(reached, port)
}

export function addressText(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function outside(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap(each => each ?? [])
  return all.find(({ internal, family }) => !internal && family === 'IPv4')?.address
}

/**
 * A profile of its own name is called so; everybody has one that is called `default`, so that one is called as its user
 * or machine is.
 */
export function proposedName(profile: string): string | undefined {
  const names = profile === 'default' ? [userName(), hostname().split('.')[0] ?? '', profile] : [profile]
  return names.find(name => name !== 'root' && isPeerId(name))
}
