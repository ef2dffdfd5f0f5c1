// Which folders are no project: copying them would put the keys of the user or of a profile into an agent's folder.
// Links and other names of the same folder make no difference.
import { readdir, stat } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { dirname, parse, relative } from 'node:path'
import { type Clock, ParleyError } from '@parley/core'
import { type FileName, foldersOf, textName } from './files/file-name.ts'
import { below } from './files/remove.ts'
import { git } from './git/git.ts'
import type { GitLocation } from './project.ts'

const ADVICE = 'Make a folder for the project alone and start there, or name it with --project.'

/** Of a project without git, which is copied whole. `path` has no symbolic links. Throws `invalid_project`. */
export async function requireFitToCopy(path: string, profile: string): Promise<void> {
  const refused = (what: string) =>
    new ParleyError(
      'invalid_project',
      `${path} ${what}. A project without git is copied for the agents, and they would get keys and private files with it. ${ADVICE}`,
    )
  if (path === parse(path).root) throw refused('is the root of a disk')
  for (const home of new Set([homedir(), userInfo().homedir])) {
    if (await isSame(path, home)) throw refused('is your home folder')
    if (await holds(path, home)) throw refused(`holds your home folder ${home}`)
  }
  if (await holds(path, profile)) throw refused(`holds the folder of the Parley profile, ${profile}`)
  // An empty one of the node's own is where peers are answered from.
  if ((await holds(profile, path)) && (await readdir(path)).length > 0)
    throw refused(`is inside the folder of the Parley profile, ${profile}`)
  if (await isProfile(path, '')) throw refused('is the folder of a Parley profile')
}

/** Of a git project: agents get what is committed, which must not be a profile. Throws `invalid_project`. */
export async function requireUncommitted(project: GitLocation, profile: string, clock: Clock): Promise<void> {
  const { path, folder } = project
  const top = folder === '' ? path : path.slice(0, -folder.length - 1)
  const name = relative(top, profile)
  if (name === '..' || name.startsWith('../')) return
  const args = ['cat-file', '-e', `HEAD:${name}`]
  if ((await git({ cwd: path, clock }, args, { codes: [0, 1, 128] })).code !== 0) return
  throw new ParleyError(
    'invalid_project',
    `The repository of ${path} has committed the Parley profile ${profile}, and every agent would get its keys. Take it out of the repository with "git rm -r --cached" and commit that, or move the profile with PARLEY_HOME.`,
  )
}

/** Of some files of a folder, those that are in no Parley profile. */
export async function outsideProfiles(folder: string, names: readonly FileName[]): Promise<readonly FileName[]> {
  const candidates = new Set<string>()
  for (const name of names)
    for (const each of foldersOf(name)) {
      const at = each.lastIndexOf('/')
      if (at > 0 && PARTS.has(each.slice(at + 1))) candidates.add(each.slice(0, at))
    }
  const profiles = new Set<string>()
  for (const each of candidates) if (await isProfile(folder, each)) profiles.add(each)
  return profiles.size === 0 ? names : names.filter(name => !foldersOf(name).some(each => profiles.has(each)))
}

/** Folders that every profile has from its first start on, or that hold what runs have left. */
const PARTS: ReadonlySet<string> = new Set(['trail', 'alp', 'runs', 'logs', 'blobs'])

/** By what only a profile has: the keys of its record, or its own secret beside the record. */
async function isProfile(folder: string, name: string): Promise<boolean> {
  const has = async (part: string) => {
    const path = name === '' ? textName(part) : `${name}/${part}`
    return (await stat(below(folder, path)).catch(() => undefined)) !== undefined
  }
  if (await has('trail/keys.json')) return true
  return (await has('trail')) && ((await has('secret')) || (await has('alp/secrets')))
}

async function isSame(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map(each => stat(each).catch(() => undefined)))
  return first !== undefined && second !== undefined && first.ino === second.ino && first.dev === second.dev
}

/** Whether a folder is another one or a folder above it. */
async function holds(folder: string, inner: string): Promise<boolean> {
  for (let at = inner; ; at = dirname(at)) {
    if (await isSame(folder, at)) return true
    if (at === dirname(at)) return false
  }
}
