// The dependencies that lock files and lists name, each with the line that names it: { name, version, dev, file, line,
// licence? }.
import { readText } from './manifest.mjs'
import { npmLock } from './npm-lock.mjs'

const readers = {
  'package-lock.json': npmLock,
  'npm-shrinkwrap.json': npmLock,
  'pnpm-lock.yaml': pnpmLock,
  'yarn.lock': yarnLock,
  'Cargo.lock': (text, file) => tomlLock(text, file, 'cargo'),
  'poetry.lock': (text, file) => tomlLock(text, file, 'python'),
  'uv.lock': (text, file) => tomlLock(text, file, 'python'),
  'go.mod': goMod,
  'requirements.txt': requirements,
}

/** [{ file, dependencies }] for each file that is there. */
export function lockedDependencies() {
  return Object.entries(readers).flatMap(([file, read]) => {
    const text = readText(file)
    return text === undefined ? [] : [{ file, dependencies: once(read(text, file)) }]
  })
}

/** One name and version may stand in several places of a tree; it is in the release if one of them is. */
function once(dependencies) {
  const found = new Map()
  for (const each of dependencies) {
    const key = `${each.name}@${each.version}`
    const known = found.get(key)
    if (!known || (known.dev && !each.dev)) found.set(key, { ...each, licence: each.licence ?? known?.licence })
  }
  return [...found.values()]
}

function pnpmLock(text, file) {
  const dev = /^ {4}dev: true/
  const lines = text.split('\n')
  const start = lines.indexOf('packages:')
  const found = []
  for (let index = start + 1; start >= 0 && index < lines.length && !/^\S/.test(lines[index]); index++) {
    // `/name@1.0.0(peer):`, `name@1.0.0:`, and `/name/1.0.0:` in old files.
    const [, name, version] =
      /^ {2}'?\/?((?:@[^/@]+\/)?[^/@']+)[@/](\d[^('_:]*)[^:]*:$/.exec(lines[index].replace(/^ {2}'(.*)':$/, '  $1:')) ??
      []
    if (name) found.push({ ecosystem: 'npm', name, version, dev: false, file, line: index + 1 })
    else if (dev.test(lines[index]) && found.length > 0) found.at(-1).dev = true
  }
  return found
}

function yarnLock(text, file) {
  const lines = text.split('\n')
  return lines.flatMap((line, index) => {
    const name = /^"?((?:@[^/@"]+\/)?[^@"\s]+)@(?!workspace:)/.exec(line)?.[1]
    const version = /^\s+version:? "?([^"\s]+)/.exec(lines[index + 1] ?? '')?.[1]
    return name && version && version !== '0.0.0-use.local'
      ? [{ ecosystem: 'npm', name, version, dev: false, file, line: index + 1 }]
      : []
  })
}

/** `[[package]]` tables. What has no source in a Cargo.lock is a part of the project itself. */
function tomlLock(text, file, ecosystem) {
  const found = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '[[package]]') found.push({ ecosystem, dev: false, file, line: index + 1 })
    const [, key, value] = /^(name|version|source) = (?:"([^"]*)"|\{)/.exec(line) ?? []
    if (key && found.length > 0) found.at(-1)[key] = value ?? line
  }
  const theirs =
    ecosystem === 'cargo'
      ? found.filter(({ source }) => source)
      : found.filter(({ source }) => !/\b(?:editable|virtual)\b/.test(source ?? ''))
  return theirs.map(({ source, ...each }) => each)
}

function goMod(text, file) {
  return text.split('\n').flatMap((line, index) => {
    const [, name, version] = /^\s*(?:require\s+)?([\w.-]+\.[\w.-]+\/\S+|[\w-]+\.\w+)\s+(v\d\S*)/.exec(line) ?? []
    return name ? [{ ecosystem: 'go', name, version, dev: false, file, line: index + 1 }] : []
  })
}

function requirements(text, file) {
  return text.split('\n').flatMap((line, index) => {
    const [, name, version] =
      /^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[=~<>!]=?=?\s*([\w.*+!-]+))?/.exec(line) ?? []
    return name ? [{ ecosystem: 'python', name, version, dev: false, file, line: index + 1 }] : []
  })
}
