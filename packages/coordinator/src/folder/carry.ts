// Ignored files of the user's project that come along into a workspace's folder. They are copies, where the file system
// can share their blocks: an agent that writes to one of them must not change the user's own.
import { constants } from 'node:fs'
import { copyFile, lstat, mkdir, readlink, symlink } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { Tree } from './contents.ts'
import { allowedPaths } from './files/allowed-paths.ts'
import { type FileName, splitNames } from './files/file-name.ts'
import { leadsOutside } from './files/links.ts'
import { isReached } from './files/put-back.ts'
import { below, removeAll } from './files/remove.ts'
import { secretName, secretPatterns } from './files/secret-names.ts'
import { requireSize, type SizedFile } from './files/size.ts'
import { folderLimits } from './limits.ts'
import type { Site } from './site.ts'
import { outsideProfiles } from './unfit-project.ts'

/**
 * Copies what the globs name into a folder, and answers with the names. The folder's index says what is tracked, and so
 * comes with the commit.
 */
export async function carry(site: Site, tree: Tree, globs: readonly string[]): Promise<readonly FileName[]> {
  const top = topOf(site)
  const { names, cut } = await namedBy(site, tree.index, globs)
  const found: (SizedFile & { readonly name: FileName; readonly link?: Buffer })[] = []
  for (const name of names) {
    const stats = await lstat(below(top, name)).catch(() => undefined)
    if (stats?.isFile()) found.push({ name, bytes: stats.size })
    const link = stats?.isSymbolicLink() ? await readlink(below(top, name), 'buffer') : undefined
    // One that leads out of the project would lead an agent to the user's own files.
    if (link && !leadsOutside(top, name, link.toString('latin1'))) found.push({ name, bytes: 0, link })
  }
  const advice = 'Name less in `carry`, then try again.'
  requireSize(found, { code: 'carry_too_large', of: `What is carried from ${top}`, more: cut, advice })
  for (let next = 0; next < found.length; next += folderLimits.copiesAtOnce) {
    const some = found.slice(next, next + folderLimits.copiesAtOnce)
    await Promise.all(some.map(({ name, link }) => copy(top, tree.folder, name, link)))
  }
  return found.map(({ name }) => name)
}

async function copy(top: string, folder: string, name: FileName, link: Buffer | undefined): Promise<void> {
  if (!(await isReached(folder, name))) return
  const place = below(folder, name)
  await mkdir(place.subarray(0, place.lastIndexOf('/')), { recursive: true })
  await removeAll(place)
  if (link) await symlink(link, place)
  else await copyFile(below(top, name), place, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
}

/** Globs that name no ignored file of the project. */
export async function globsWithoutFile(site: Site, globs: readonly string[]): Promise<readonly string[]> {
  const { names } = await namedBy(site, join(site.home, 'no-index'), globs)
  return globs.filter(glob => {
    const isNamed = namedByGlobs([glob], site)
    return !names.some(isNamed)
  })
}

async function namedBy(site: Site, index: string, globs: readonly string[]) {
  const { contents, facts } = site
  const places = globs.map(glob => `:(literal)${posix.join(facts.folder, literalPart(glob))}`)
  // Without a repository nothing else keeps these out of an agent's folder.
  const kept = facts.kind === 'git' ? [] : secretPatterns.map(each => `--exclude=${each}`)
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', ...kept, '--', ...new Set(places)]
  const call = { cut: true, timeoutMs: folderLimits.checkoutMs }
  const { stdout, cut } = await contents.runOn({ folder: topOf(site), index }, args, call)
  const isNamed = namedByGlobs(globs, site)
  // A slash at its end: a repository of its own.
  const names = splitNames(stdout).filter(name => !name.endsWith('/') && isNamed(name))
  return { names: await outsideProfiles(topOf(site), names), cut }
}

/** Names that a person uses for secrets must be written out: `config/**` does not name `config/.env`. */
function namedByGlobs(globs: readonly string[], { scope }: Site): (name: FileName) => boolean {
  const isAllowed = allowedPaths(globs)
  const secretly = allowedPaths(globs.filter(glob => secretName.test(posix.basename(glob))))
  return name => {
    if (!scope.contains(name)) return false
    const path = scope.matchable(name)
    return secretName.test(posix.basename(path)) ? secretly(path) : isAllowed(path)
  }
}

/** The folders in front of the first wildcard: git need not look anywhere else. */
function literalPart(glob: string): string {
  const parts = glob.split('/').filter(part => part !== '')
  const wild = parts.findIndex(part => /[*?[{]/.test(part))
  return parts.slice(0, wild < 0 ? parts.length : wild).join('/')
}

/** The top of the user's checkout, or of a project that is no repository. */
function topOf({ facts: { path, folder } }: Site): string {
  return folder === '' ? path : path.slice(0, -folder.length - 1)
}
