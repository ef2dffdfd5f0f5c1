// Modes that are too wide, as after a careless `chmod -R` or a copy that lost them: everything in a profile is its
// owner's alone.
import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { nodeLimits } from '../limits.ts'

/** Meant for others to read. */
const PUBLIC = join('alp', 'secrets', 'alp_key.pub')
/** Files of projects have the modes that the user's umask gives them. */
const PROJECTS = 'runs'
/** By far the most files, and the least secret: what they hold is known by its hash. */
const LAST = 'blobs'

/**
 * Takes the rights of others from what is in a profile, secrets first, up to `nodeLimits.modes` files. Follows no
 * links. What cannot be changed stays: the profile's own folder keeps others out.
 */
export function narrowModes(profile: string, most: number = nodeLimits.modes): void {
  const folders = [join('alp', 'secrets'), '']
  let left = most
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    for (const name of namesIn(join(profile, folder))) {
      if (left-- <= 0) return
      const path = join(folder, name)
      if (!narrow(join(profile, path), path === PUBLIC) || path === PROJECTS) continue
      folders.push(path)
    }
    const late = folders.indexOf(LAST)
    if (late >= 0) folders.push(...folders.splice(late, 1))
  }
}

/** Whether it is a folder. */
function narrow(path: string, isPublic: boolean): boolean {
  try {
    const found = lstatSync(path)
    if (found.isSymbolicLink()) return false
    const mode = found.mode & 0o777
    const meant = isPublic ? 0o644 : mode & 0o700
    if (mode !== meant) chmodSync(path, meant)
    return found.isDirectory()
  } catch {
    return false
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
