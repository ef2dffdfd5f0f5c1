// Reads package-lock.json. What is released is what the project's own packages reach without their development
// dependencies; npm's own marks (`dev`, `devOptional`) do not tell that of platform variants and optional peers.
import { readJson } from './manifest.mjs'

const MODULES = 'node_modules/'

export function npmLock(text, file) {
  const lock = readJson(file)
  const lines = new Map(
    text.split('\n').map((line, index) => [/^\s*"([^"]*)": \{$/.exec(line.trimEnd())?.[1], index + 1]),
  )
  if (!lock?.packages) return firstForm(lock, file, lines)
  const released = releasedPaths(lock.packages)
  return Object.entries(lock.packages)
    .filter(([path, { link }]) => path.includes(MODULES) && !link)
    .map(([path, { name, version, license }]) => ({
      ecosystem: 'npm',
      name: name ?? path.slice(path.lastIndexOf(MODULES) + MODULES.length),
      version,
      dev: !released.has(path),
      licence: license,
      path,
      file,
      line: lines.get(path),
    }))
}

/** As npm 6 and older wrote it. */
function firstForm(lock, file, lines) {
  return Object.entries(lock?.dependencies ?? {}).map(([name, { version, dev }]) => ({
    ecosystem: 'npm',
    name,
    version,
    dev: Boolean(dev),
    path: `${MODULES}${name}`,
    file,
    line: lines.get(name),
  }))
}

function releasedPaths(packages) {
  const own = Object.keys(packages).filter(path => !path.includes(MODULES))
  const waiting = [...own]
  const reached = new Set(own)
  while (waiting.length > 0) {
    const from = waiting.pop()
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[from]
    const peers = Object.keys(peerDependencies ?? {}).filter(name => !peerDependenciesMeta?.[name]?.optional)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      const path = resolved(packages, from, name)
      if (!path || reached.has(path)) continue
      reached.add(path)
      waiting.push(path)
    }
  }
  return reached
}

/**
 * As Node looks for a module: in the package's own folder, then in each one above. A link leads to a package of the
 * project.
 */
function resolved(packages, from, name) {
  for (let folder = from; ; ) {
    const path = `${folder === '' ? '' : `${folder}/`}${MODULES}${name}`
    if (packages[path]) return packages[path].link ? packages[path].resolved : path
    if (folder === '') return undefined
    const cut = folder.lastIndexOf('/')
    folder = cut < 0 ? '' : folder.slice(0, cut)
  }
}
