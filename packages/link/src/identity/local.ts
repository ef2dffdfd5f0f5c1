// Which profile of this machine holds a pinned key, and so which socket to call (ALP-UNIX-07): by key alone; a name only helps where no
// key matches.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { linkLimits } from '../limits.ts'
import { linkPaths, localIdentity } from './files.ts'

/** Where profiles lie below one root. */
export interface ProfileLayout {
  /** The homes in the order in which they are searched. */
  homes(): readonly string[]
  /** The home that a profile of this name would have; undefined where no profile can be called so. */
  home(name: string): string | undefined
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** The rule of the sheet for profile names; `default` and `alpi` pass here, and mean the root where there is one. */
export function isProfileName(name: string): boolean {
  return NAME.test(name) && !name.includes('..')
}

/** The layout of alpi: the root is the default profile, the others are below `profiles`. */
export function alpiLayout(root: string): ProfileLayout {
  return {
    homes: () => [root, ...named(join(root, 'profiles'))],
    home: name => {
      if (name === 'default') return root
      return isProfileName(name) ? join(root, 'profiles', name) : undefined
    },
  }
}

/** The layout of Parley: every profile is a folder below the root, `default` first. */
export function parleyLayout(root: string): ProfileLayout {
  const first = join(root, 'default')
  return {
    homes: () => [first, ...named(root).filter(home => home !== first)],
    home: name => (isProfileName(name) ? join(root, name) : undefined),
  }
}

/** Folders in the order of their names, by code unit. */
function named(folder: string): string[] {
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .filter(isProfileName)
    .sort()
    .slice(0, linkLimits.localProfiles)
    .map(name => join(folder, name))
}

/**
 * The socket of the profile that holds the key. Where none does, that of the profile which the first layout would give the peer's id, so that
 * a call says whom it did not reach; undefined where the id cannot be a profile's name.
 */
export function localSocket(
  identity: string,
  peerId: string,
  layouts: readonly ProfileLayout[],
): string | undefined {
  for (const layout of layouts)
    for (const home of layout.homes()) if (holds(home, identity)) return linkPaths(home).socket
  const home = layouts[0]?.home(peerId)
  return home === undefined ? undefined : linkPaths(home).socket
}

function holds(home: string, identity: string): boolean {
  try {
    return localIdentity(home) === identity
  } catch {
    // A profile that cannot be read is not this user's to call.
    return false
  }
}
