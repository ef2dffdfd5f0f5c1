// Dependencies of an npm project by a path that leads out of it, and what to do about them. Reads only.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** What works instead: `npm ci` in a folder of agents finds the packed copy, which is a file of the project. */
export function outsideWarning(dependency: string): string {
  const path = /\((?:file|link|portal):(.+)\)$/.exec(dependency)?.[1] ?? 'FOLDER'
  return `${dependency} is outside the project, so the folders of agents do not have it. Pack it into the project: mkdir -p vendor && npm pack ${path} --pack-destination vendor, then npm install the file that it made, and commit both.`
}

/** Dependencies of a package.json by a path that leads out of the project: folders of agents do not have them. */
export function outsideDependencies(folder: string): readonly string[] {
  let found: unknown
  try {
    found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  } catch {
    return []
  }
  const { dependencies, devDependencies, optionalDependencies } = (found ?? {}) as Readonly<Record<string, unknown>>
  const all = Object.entries({ ...(dependencies ?? {}), ...(devDependencies ?? {}), ...(optionalDependencies ?? {}) })
  return all.flatMap(([name, version]) => {
    const path = typeof version === 'string' ? /^(?:file|link|portal):(.+)$/.exec(version)?.[1] : undefined
    return path !== undefined && isOutside(folder, path) ? [`${name} (${version})`] : []
  })
}

/** A repository is there as a whole. */
function isOutside(folder: string, path: string): boolean {
  let top = folder
  while (!existsSync(join(top, '.git'))) {
    if (dirname(top) === top) return relative(folder, resolve(folder, path)).startsWith('..')
    top = dirname(top)
  }
  return relative(top, resolve(folder, path)).startsWith('..')
}
