// The symbolic links of a tree: by which names else one of its files is reached. Nothing on disk is asked, where it is
// not yet.
import { lossyText } from '../folder/files/file-name.ts'
import { folderLimits } from '../folder/limits.ts'
import { coordinatorLimits } from '../limits.ts'

/** A name as a file system sees it that ignores case and characters that nobody sees. */
export function folded(name: string): string {
  const seen = name.replace(/\p{Default_Ignorable_Code_Point}/gu, '').normalize('NFC')
  // Some letters are the same as another only as capitals.
  return seen.toUpperCase().toLowerCase()
}

export class TreeLinks {
  readonly #top: readonly string[]
  readonly #targets: ReadonlyMap<string, string>
  /** The links that end at a place, and those whose way goes through another link. */
  readonly #endAt = new Map<string, string[]>()
  readonly #goThrough = new Map<string, string[]>()

  /** What each link of the tree says; `top` is where the tree is to be. */
  constructor(top: string, links: ReadonlyMap<string, string>) {
    this.#top = partsOf(folded(top))
    const all = [...links].map(([name, target]) => [lossyText(name), lossyText(target)] as const)
    this.#targets = new Map(all.map(([name, target]) => [folded(name), folded(target)]))
    for (const [name] of all) {
      const found = this.#follow(folded(name))
      if (!found) continue
      add(this.#endAt, found.end, name)
      for (const each of found.through) add(this.#goThrough, each, name)
    }
  }

  has(name: string): boolean {
    return this.#targets.has(folded(name))
  }

  /** The name and those that links add; of a link, also those whose way goes through it. Undefined if too many. */
  namesOf(name: string): readonly string[] | undefined {
    if (this.#targets.size === 0) return [name]
    const passing = (this.#goThrough.get(folded(name)) ?? []).map(link => ({ name: link, by: [link] }))
    const found = [{ name, by: [] as readonly string[] }, ...passing]
    const known = new Set(found.map(each => folded(each.name)))
    for (const { name, by } of found) {
      const parts = name.split('/')
      for (let count = 0; count <= parts.length; count++) {
        for (const link of this.#endAt.get(folded(parts.slice(0, count).join('/'))) ?? []) {
          const next = [link, ...parts.slice(count)].join('/')
          // Where a link leads to a folder around it, each round would add a name.
          if (by.includes(link) || known.has(folded(next))) continue
          if (found.length >= coordinatorLimits.namesOfFile) return undefined
          known.add(folded(next))
          found.push({ name: next, by: [...by, link] })
        }
      }
    }
    return found.map(each => each.name)
  }

  /** Where a link leads in the tree at last, and by which other links. */
  #follow(link: string): { readonly end: string; readonly through: readonly string[] } | undefined {
    const met: string[] = []
    let place = [...this.#top]
    const rest = link.split('/').reverse()
    while (rest.length > 0) {
      const part = rest.pop()!
      if (part === '' || part === '.') continue
      if (part === '..') {
        place.pop()
        continue
      }
      place.push(part)
      const name = this.#inside(place)
      const target = name === undefined ? undefined : this.#targets.get(name)
      if (target === undefined) continue
      if (met.length === folderLimits.linkHops) return undefined
      met.push(name!)
      place = target.startsWith('/') ? [] : place.slice(0, -1)
      rest.push(...target.split('/').reverse())
    }
    const end = this.#inside(place)
    return end === undefined ? undefined : { end, through: met.filter(each => each !== link) }
  }

  #inside(place: readonly string[]): string | undefined {
    const isInside = this.#top.every((part, at) => place[at] === part)
    return isInside ? place.slice(this.#top.length).join('/') : undefined
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter(part => part !== '')
}

function add(to: Map<string, string[]>, key: string, value: string): void {
  const there = to.get(key)
  if (there) there.push(value)
  else to.set(key, [value])
}
