// Symbolic links: whether one stays inside the project, wherever the project lies and whatever else is merged into it.
import { readlinkSync } from 'node:fs'
import type { Contents } from '../contents.ts'
import { folderLimits } from '../limits.ts'
import { type FileName, lossyText, nameBytes } from './file-name.ts'
import { below } from './remove.ts'

/**
 * Where a link leads by its words alone, as a path from the top; undefined if outside. Absolute targets are outside,
 * and so is `..` behind a name, since its meaning depends on whether that name is a link. Other links cannot make the
 * remaining form lead outside, so each link can be judged alone.
 */
export function placeInside(name: string, target: string): string | undefined {
  if (target.startsWith('/')) return undefined
  const place = name.split('/').slice(0, -1)
  let named = false
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      if (named || place.pop() === undefined) return undefined
      continue
    }
    if (meansGit(part)) return undefined
    named = true
    place.push(part)
  }
  return place.join('/')
}

/** `.git` in any spelling that some file system takes for it: case, short form, dots, spaces, invisible characters. */
function meansGit(part: string): boolean {
  const seen = lossyText(part).replace(/\p{Default_Ignorable_Code_Point}/gu, '')
  return /^(\.git|git~\d+)[. ]*$/i.test(seen)
}

/** Whether a link of a folder leads outside of it, also by way of other links there. */
export function leadsOutside(folder: string, name: FileName, target: string): boolean {
  let place = placeInside(name, target)
  for (let hops = 0; hops < folderLimits.linkHops; hops++) {
    if (place === undefined) return true
    const next = firstLink(folder, place)
    if (!next) return false
    const to = placeInside(next.name, next.target)
    place = to === undefined ? undefined : [to, next.rest].filter(part => part !== '').join('/')
  }
  // A loop leads nowhere.
  return false
}

/** The first link on the way to a place. */
function firstLink(folder: string, place: string) {
  for (let end = place.indexOf('/'); ; end = place.indexOf('/', end + 1)) {
    const name = end < 0 ? place : place.slice(0, end)
    const target = readTarget(folder, name)
    if (target !== undefined) return { name, target, rest: end < 0 ? '' : place.slice(end + 1) }
    if (end < 0) return undefined
  }
}

function readTarget(folder: string, name: string): string | undefined {
  try {
    return readlinkSync(below(folder, name), 'buffer').toString('latin1')
  } catch {
    return undefined
  }
}

/** What the links of a commit or tree say, by the ids of their contents. */
export async function targetsOf(
  contents: Pick<Contents, 'run'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const targets = new Map<string, string>()
  if (ids.length === 0) return targets
  const { stdout } = await contents.run(['cat-file', '--batch'], { input: nameBytes(`${ids.join('\n')}\n`) })
  for (let at = 0; at < stdout.length; ) {
    const end = stdout.indexOf('\n', at)
    const [id, , size] = stdout.toString('latin1', at, end).split(' ')
    const start = end + 1
    targets.set(id!, stdout.toString('latin1', start, start + Number(size)))
    at = start + Number(size) + 1
  }
  return targets
}
