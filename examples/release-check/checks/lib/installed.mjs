// What this machine knows of a dependency's licence: node_modules, the caches of cargo and go, Python's virtual
// environments. Nothing is asked of a network.
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { licenceOfText } from './licence-kinds.mjs'
import { readJson, readText, tomlValue } from './manifest.mjs'

/** The user's project, where dependencies are installed; a worktree of it has none. */
export const project = process.env.PARLEY_PROJECT || process.cwd()

const readers = { npm, cargo, go, python }

/** The licence as an SPDX expression where the package says one, or undefined. */
export function installedLicence(dependency) {
  return readers[dependency.ecosystem](dependency)
}

function npm({ name, version, path }) {
  const places = [path, `node_modules/${name}`, ...pnpmFolders(name, version)]
    .filter(Boolean)
    .map(place => join(project, place))
  for (const place of places) {
    const manifest = readJson(join(place, 'package.json'))
    if (!manifest || (version && manifest.version !== version)) continue
    return declared(manifest) ?? textIn(place)
  }
  return undefined
}

function pnpmFolders(name, version) {
  const store = 'node_modules/.pnpm'
  const start = `${name.replace('/', '+')}@${version}`
  return listed(join(project, store))
    .filter(folder => folder === start || folder.startsWith(`${start}_`) || folder.startsWith(`${start}(`))
    .map(folder => join(store, folder, 'node_modules', name))
}

/** `license` as it is today, and the two forms that it once had. */
export function declared({ license, licenses }) {
  const named = value => (typeof value === 'string' ? value : value?.type)
  if (Array.isArray(licenses)) return licenses.map(named).filter(Boolean).join(' OR ') || undefined
  const name = named(license ?? licenses)
  return name && !/^SEE LICEN[CS]E/i.test(name) ? name : undefined
}

function cargo({ name, version }) {
  const sources = join(process.env.CARGO_HOME || join(homedir(), '.cargo'), 'registry', 'src')
  for (const registry of listed(sources)) {
    const folder = join(sources, registry, `${name}-${version}`)
    const manifest = readText(join(folder, 'Cargo.toml'))
    if (manifest) return tomlValue(manifest, ['package'], 'license')?.value ?? textIn(folder)
  }
  return undefined
}

function go({ name, version }) {
  const cache = process.env.GOMODCACHE || join(process.env.GOPATH || join(homedir(), 'go'), 'pkg', 'mod')
  const escaped = name.replace(/[A-Z]/g, letter => `!${letter.toLowerCase()}`)
  return textIn(join(project, 'vendor', name)) ?? textIn(join(cache, `${escaped}@${version}`))
}

function python({ name, version }) {
  const wanted = normal(name)
  for (const packages of sitePackages()) {
    for (const folder of listed(packages).filter(entry => entry.endsWith('.dist-info'))) {
      const [found, foundVersion] = folder.slice(0, -'.dist-info'.length).split('-')
      if (normal(found) !== wanted || (version && !/\*/.test(version) && foundVersion !== version)) continue
      return pythonLicence(readText(join(packages, folder, 'METADATA')) ?? '')
    }
  }
  return undefined
}

const normal = name => name.toLowerCase().replace(/[-_.]+/g, '-')

function sitePackages() {
  return ['.venv', 'venv', 'env'].flatMap(environment => {
    const lib = join(project, environment, 'lib')
    return listed(lib).map(version => join(lib, version, 'site-packages'))
  })
}

function pythonLicence(metadata) {
  const head = metadata.split(/\r?\n\r?\n/)[0]
  const field = name => new RegExp(`^${name}: (.+)$`, 'm').exec(head)?.[1].trim()
  const classifiers = [...head.matchAll(/^Classifier: License :: OSI Approved :: (.+)$/gm)].map(([, name]) => name)
  const short = field('License')
  return (
    field('License-Expression') ??
    (short && short.length < 40 && short !== 'UNKNOWN' ? short : undefined) ??
    (classifiers.map(fromClassifier).join(' AND ') || undefined)
  )
}

function fromClassifier(name) {
  const known = [
    [/Affero/, 'AGPL-3.0'],
    [/Lesser|LGPL/, 'LGPL-3.0'],
    [/GPL|GNU General/, 'GPL-3.0'],
    [/Mozilla/, 'MPL-2.0'],
    [/Apache/, 'Apache-2.0'],
    [/BSD/, 'BSD-3-Clause'],
    [/MIT/, 'MIT'],
    [/ISC/, 'ISC'],
    [/Python Software/, 'PSF-2.0'],
  ]
  return known.find(([pattern]) => pattern.test(name))?.[1] ?? name.replaceAll(' ', '-')
}

/** By the text of a licence file in the folder. */
export function textIn(folder) {
  const names = listed(folder).filter(name => /^(?:licen[cs]e|copying|unlicense)(?:[.-]|$)/i.test(name))
  for (const name of names) {
    const licence = licenceOfText(readText(join(folder, name)) ?? '')
    if (licence) return licence
  }
  return undefined
}

function listed(folder) {
  if (!existsSync(folder)) return []
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
