// Where a relative link leads: the tracked files and folders of a repository, and the anchors in its Markdown files.
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { posix, relative } from 'node:path'
import { anchorsOf } from './markdown-links.mjs'
import { git, isOwnFile } from './repository.mjs'

/**
 * The tracked files and folders of the whole repository: names are compared exactly, as the servers do that show them.
 */
export class Tree {
  #top
  #prefix
  #files
  #folders = new Set(['.'])
  #anchors = new Map()

  constructor(top) {
    this.#top = top
    this.#prefix = git('rev-parse', '--show-prefix').trim()
    const names = git('ls-files', '-z', '--full-name', ':/')
      .split('\0')
      .filter(name => name && !isOwnFile(name))
    this.#files = new Set(names)
    for (const name of names)
      for (let folder = posix.dirname(name); !this.#folders.has(folder); folder = posix.dirname(folder))
        this.#folders.add(folder)
  }

  problemOf(document, { target, image }) {
    const [path, anchor] = split(target)
    const here = posix.join(this.#prefix, document)
    const aim =
      path === ''
        ? here
        : posix
            .normalize(path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(here), path))
            .replace(/\/$/, '') || '.'
    if (aim.startsWith('..')) return { severity: 'info', message: `${target} leads out of the repository` }
    const found = this.#find(aim)
    if (!found) return { severity: 'warning', message: this.#missing(aim, target, image) }
    if (!anchor || this.#folders.has(found)) return undefined
    return this.#anchorProblem(found, anchor, target)
  }

  /** The name under which a path is tracked, links in it followed. */
  #find(aim) {
    if (this.#files.has(aim) || this.#folders.has(aim)) return aim
    const full = posix.join(this.#top, aim)
    if (!existsSync(full)) return undefined
    const real = relative(this.#top, realpathSync(full)).replaceAll('\\', '/') || '.'
    return real !== aim && (this.#files.has(real) || this.#folders.has(real)) ? real : undefined
  }

  #missing(aim, target, image) {
    const what = image ? 'the image' : 'the link to'
    const other = [...this.#files].find(name => name.toLowerCase() === aim.toLowerCase())
    if (other) return `${what} ${target} differs from ${other} in upper and lower case`
    if (existsSync(posix.join(this.#top, aim)))
      return `${what} ${target} exists here but is not tracked, so nobody else has it`
    return image ? `the image ${target} does not exist` : `the link to ${target} leads nowhere`
  }

  #anchorProblem(file, anchor, target) {
    if (/\.(?:md|markdown)$/i.test(file)) {
      return this.#anchorsIn(file).has(anchor.toLowerCase())
        ? undefined
        : { severity: 'warning', message: `${target}: ${file} has no heading or anchor #${anchor}` }
    }
    const line = Number(/^L(\d+)/.exec(anchor)?.[1] ?? 0)
    if (!line) return undefined
    const lines = readFileSync(posix.join(this.#top, file), 'utf8').split('\n').length
    return line > lines ? { severity: 'warning', message: `${target}: ${file} has only ${lines} lines` } : undefined
  }

  #anchorsIn(file) {
    if (!this.#anchors.has(file)) this.#anchors.set(file, anchorsOf(readFileSync(posix.join(this.#top, file), 'utf8')))
    return this.#anchors.get(file)
  }
}

/** A target's path and anchor, decoded; a query such as `?raw=true` is for the server. */
function split(target) {
  const [rest, anchor = ''] = target.split('#', 2)
  return [decode(rest.split('?')[0]), decode(anchor)]
}

function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
