// Finds the profile of this machine that holds a pinned key, and so the socket to call (ALP-UNIX-07): by key alone.
// That socket is not encrypted, so a name must not lead to a profile that holds another key.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { linkLimits } from '../limits.ts'
import { linkPaths, localIdentity } from './files.ts'

/** Where profiles lie below one root. */
export interface ProfileLayout {
  /** The homes in the order in which they are searched. */
  homes(): readonly string[]
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** The sheet's rule for profile names. */
export function isProfileName(name: string): boolean {
  return NAME.test(name) && !name.includes('..')
}

/** The layout of alpi: the root is the default profile, the others are below `profiles`. */
export function alpiLayout(root: string): ProfileLayout {
  return { homes: () => [root, ...named(join(root, 'profiles'))] }
}

/** The layout of Parley: every profile is a folder below the root, `default` first. */
export function parleyLayout(root: string): ProfileLayout {
  const first = join(root, 'default')
  return { homes: () => [first, ...named(root).filter(home => home !== first)] }
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

/** The socket of the profile that holds the key, if there is one. */
export function localSocket(identity: string, layouts: readonly ProfileLayout[]): string | undefined {
  for (const layout of layouts)
    for (const home of layout.homes()) if (holds(home, identity)) return linkPaths(home).socket
  return undefined
}

function holds(home: string, identity: string): boolean {
  try {
    return localIdentity(home) === identity
  } catch {
    // A profile that cannot be read is not this user's to call.
    return false
  }
}
