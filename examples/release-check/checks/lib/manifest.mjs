// What the project says of itself: names, versions and licences from the manifests of the languages that people use
// most.
import { existsSync, readFileSync } from 'node:fs'

/** The JSON of a file, or undefined where there is none or it is broken. */
export function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

export function readText(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** The line (from 1) on which the text first matches. */
export function lineOf(text, pattern) {
  const index = text.split('\n').findIndex(line => pattern.test(line))
  return index < 0 ? undefined : index + 1
}

/** `key = "value"` in one of the sections of a TOML file; enough for versions and licences. */
export function tomlValue(text, sections, key) {
  let section = ''
  for (const [index, line] of text.split('\n').entries()) {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1].trim() ?? section
    const value = new RegExp(`^\\s*${key}\\s*=\\s*["']([^"']+)["']`).exec(line)?.[1]
    if (value && sections.includes(section)) return { value, line: index + 1 }
  }
  return undefined
}

/** The version that is to be released, with the file and line that say it; undefined where no manifest does. */
export function manifestVersion() {
  const npm = readText('package.json')
  const version = npm && readJson('package.json')?.version
  if (version) return { version, file: 'package.json', line: lineOf(npm, /"version"\s*:/) }
  const tables = {
    'Cargo.toml': ['package', 'workspace.package'],
    'pyproject.toml': ['project', 'tool.poetry'],
  }
  for (const [file, sections] of Object.entries(tables)) {
    const found = tomlValue(readText(file) ?? '', sections, 'version')
    if (found) return { version: found.value, file, line: found.line }
  }
  return undefined
}
