#!/usr/bin/env node
// Licences: the project has one, and those of its dependencies let it be released. Offline: from lock files and from
// what is installed in the project. No legal advice; it says where somebody should look.
import { check, say } from './lib/check.mjs'
import { lockedDependencies } from './lib/dependencies.mjs'
import { declared, installedLicence, textIn } from './lib/installed.mjs'
import { kindOf, licenceKinds } from './lib/licence-kinds.mjs'
import { lineOf, readJson, readText, tomlValue } from './lib/manifest.mjs'
import { count, some, table } from './lib/markdown.mjs'

/** So many dependencies under one licence are listed one by one; more are one finding. */
const ONE_BY_ONE = 5

await check('licences', 'Licences', ({ commit, files }) => {
  const own = ownLicence()
  const locks = lockedDependencies()
  for (const { file, dependencies } of locks)
    say(`licences: ${count(dependencies.length, 'dependency', 'dependencies')} in ${file}`)
  const dependencies = locks
    .flatMap(lock => lock.dependencies)
    .map(each => {
      const licence = named(each.licence) ?? installedLicence(each)
      return { ...each, licence, kind: kindOf(licence) }
    })
  const counts = Object.fromEntries(
    licenceKinds.map(kind => [kind, dependencies.filter(each => each.kind === kind).length]),
  )
  const parts = licenceKinds
    .filter(kind => counts[kind] > 0)
    .map(kind => `${counts[kind].toLocaleString('en')} ${kind}`)
  const of =
    dependencies.length === 0
      ? 'no locked dependencies'
      : `${count(dependencies.length, 'dependency', 'dependencies')}: ${parts.join(', ')}`
  return {
    summary: `The project is under ${own.licence ?? 'no licence that it names'}; ${of}.`,
    findings: [...aboutProject(own, files), ...aboutDependencies(dependencies, own)],
    facts: {
      commit,
      project: own.licence ?? null,
      dependencies: dependencies.length,
      kinds: counts,
      lockFiles: locks.map(({ file }) => file),
    },
    body: licenceTable(dependencies),
  }
})

/** A lock file may hold the old form `{ type }`. */
function named(licence) {
  return licence === undefined ? undefined : declared({ license: licence })
}

function ownLicence() {
  const manifest = readJson('package.json')
  const cargo = tomlValue(readText('Cargo.toml') ?? '', ['package', 'workspace.package'], 'license')?.value
  const python = tomlValue(readText('pyproject.toml') ?? '', ['project', 'tool.poetry'], 'license')?.value
  const said = manifest ? declared(manifest) : (cargo ?? python)
  return { said, licence: said ?? textIn('.'), private: manifest?.private === true, manifest }
}

function aboutProject(own, files) {
  const hasFile = files.some(({ path }) => /^(?:licen[cs]es?|copying|unlicense)(?:[./-]|$)/i.test(path))
  const findings = []
  if (!hasFile && own.said !== 'UNLICENSED')
    findings.push({
      severity: own.private ? 'info' : 'warning',
      message: 'there is no licence file: without one nobody may use what is released. Add a LICENSE.',
    })
  if (own.manifest && !own.said && !own.private) {
    const line = lineOf(readText('package.json'), /"(?:name|version)"\s*:/)
    findings.push({
      severity: 'warning',
      message: 'the manifest names no licence',
      file: 'package.json',
      line,
    })
  }
  return findings
}

function aboutDependencies(dependencies, own) {
  const copyleftItself = kindOf(own.licence) === 'copyleft'
  const groups = new Map()
  for (const each of dependencies.filter(({ kind }) => kind !== 'permissive')) {
    const key = `${each.file} ${each.licence} ${each.dev}`
    groups.set(key, [...(groups.get(key) ?? []), each])
  }
  return [...groups.values()].flatMap(group => aboutGroup(group, severityOf(group[0], copyleftItself)))
}

/** What is not released with the project asks nothing of it. */
function severityOf({ kind, dev }, copyleftItself) {
  if (dev) return 'info'
  return kind === 'restricted' || (kind === 'copyleft' && !copyleftItself) ? 'error' : 'warning'
}

/** Dependencies of one file under one licence: one by one, or as one finding where they are many. */
function aboutGroup(group, severity) {
  const [{ licence, kind, dev, file, line }] = group
  const only = dev ? '; for development only' : ''
  const under = licence ? `under ${licence} (${kind})${only}` : `without a licence that is known here${only}`
  const advice = licence ? '' : '; licences are read from what is installed in the project'
  if (group.length > ONE_BY_ONE) {
    const names = some(group.map(({ name }) => name))
    return [{ severity, message: `${group.length} dependencies are ${under}: ${names}${advice}`, file, line }]
  }
  return group.map(each => ({
    severity,
    message: `${each.name}${each.version ? ` ${each.version}` : ''} is ${under}`,
    file,
    line: each.line,
  }))
}

function licenceTable(dependencies) {
  if (dependencies.length === 0) return ''
  const names = [...new Set(dependencies.map(each => each.licence ?? 'not known'))]
  const rows = names.map(licence => {
    const all = dependencies.filter(each => (each.licence ?? 'not known') === licence)
    const shipped = all.filter(each => !each.dev).length
    return [
      licence,
      all[0].kind,
      all.length,
      shipped,
      some(
        all.map(({ name }) => name),
        4,
      ),
    ]
  })
  rows.sort((a, b) => licenceKinds.indexOf(b[1]) - licenceKinds.indexOf(a[1]) || b[2] - a[2])
  return table(['licence', 'kind', 'dependencies', 'not only for development', 'for example'], rows)
}
