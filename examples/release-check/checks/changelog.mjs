#!/usr/bin/env node
// The changelog: is there one, does it speak of the version that is to be released, and what happened since the last
// tag.
import { readFileSync } from 'node:fs'
import { check, say } from './lib/check.mjs'
import { manifestVersion } from './lib/manifest.mjs'
import { count, table } from './lib/markdown.mjs'
import { git, tryGit } from './lib/repository.mjs'

const NAMES =
  /^(?:docs?\/)?(?:changelog|changes|history|news|releases?|release[-_]notes)(?:\.(?:md|markdown|rst|txt|adoc))?$/i
const UNRELEASED = /\b(?:unreleased|upcoming)\b|^next\b/i
const COMMITS_SHOWN = 20

await check('changelog', 'Changelog', ({ commit, tag, files, shallow }) => {
  const manifest = manifestVersion()
  const commits = commitsSince(tag, commit)
  const since = tag
    ? `${count(commits.length, 'commit')} since ${tag}`
    : `${count(commits.length, 'commit')}, no tag yet`
  say(`changelog: ${since}; the version is ${manifest?.version ?? 'not in any manifest'}`)
  const path = files
    .map(file => file.path)
    .filter(name => NAMES.test(name))
    .toSorted((a, b) => a.length - b.length)[0]
  const text = path && readFileSync(path, 'utf8')
  const entry = text ? entryFor(text, manifest?.version) : undefined
  const findings = [
    ...aboutChangelog(path, text, entry, manifest, commits),
    ...aboutVersion(manifest, tag, commits),
    ...(tag || shallow
      ? []
      : [{ severity: 'info', message: 'there is no tag yet, so this would be the first release' }]),
    ...(shallow ? [{ severity: 'info', message: 'this is a shallow clone: older tags and commits are not here' }] : []),
  ]
  const has = !path
    ? 'There is no changelog'
    : entry
      ? `${path} has an entry "${entry.title}"`
      : `${path} has no entry for this release`
  return {
    summary: `${has}; ${since}.`,
    findings,
    facts: {
      commit,
      changelog: path ?? null,
      entry: entry?.title ?? null,
      version: manifest?.version ?? null,
      lastTag: tag ?? null,
      commitsSinceTag: commits.length,
    },
    body: commitTable(commits, tag),
  }
})

function commitsSince(tag, commit) {
  const range = tag ? `${tag}..${commit}` : commit
  return git('log', '--no-merges', '--format=%h%x09%s', range)
    .split('\n')
    .filter(Boolean)
    .map(line => line.split('\t'))
}

/**
 * The section for the version, or for what is not released yet. A heading is `## …`, or a line with a rule below it.
 */
function entryFor(text, version) {
  const sections = sectionsOf(text)
  const exact = version && new RegExp(`(?<![\\w.])v?${version.replace(/[.+]/g, '\\$&')}(?![\\w.+-])`)
  return (
    (exact && sections.find(({ title }) => exact.test(title))) ?? sections.find(({ title }) => UNRELEASED.test(title))
  )
}

function sectionsOf(text) {
  const lines = text.split('\n')
  const heads = lines.flatMap((line, index) => {
    const [, marks, title] = /^(#{1,6}|=+)\s+(.+?)(?:\s+[#=]+)?\s*$/.exec(line) ?? []
    if (marks) return [{ index, level: marks.length, title }]
    const ruled = line.trim() && /^\s*(?:={3,}|-{3,})\s*$/.test(lines[index + 1] ?? '')
    return ruled ? [{ index, level: lines[index + 1].includes('=') ? 1 : 2, title: line.trim() }] : []
  })
  return heads.map(({ index, level, title }, position) => {
    const end = heads.slice(position + 1).find(next => next.level <= level)?.index ?? lines.length
    const content = lines.slice(index + 1, end).filter(line => /\w/.test(line) && !/^#|^\[[^\]]+\]:/.test(line))
    return {
      title: title.replace(/\[([^\]]+)\](?:\([^)]*\))?/g, '$1'),
      line: index + 1,
      empty: content.length === 0,
    }
  })
}

function aboutChangelog(path, text, entry, manifest, commits) {
  if (!path)
    return [
      {
        severity: 'warning',
        message: 'there is no changelog: users cannot see what changes for them. Add a CHANGELOG.md.',
      },
    ]
  if (!entry && commits.length > 0) {
    const version = manifest ? `version ${manifest.version}` : 'the next version'
    const first = sectionsOf(text).find(({ title }) => /\d+\.\d+/.test(title))
    // A project that keeps a changelog has promised its readers an entry.
    return [
      {
        severity: 'error',
        message: `has neither an entry for ${version} nor one for what is unreleased`,
        file: path,
        line: first?.line ?? 1,
      },
    ]
  }
  if (entry?.empty && commits.length > 0)
    return [{ severity: 'warning', message: `the entry "${entry.title}" is empty`, file: path, line: entry.line }]
  return []
}

function aboutVersion(manifest, tag, commits) {
  if (!manifest || commits.length === 0) return []
  const { version, file, line } = manifest
  const taken = [`v${version}`, version].find(name => tryGit(['rev-parse', '--verify', '--quiet', `refs/tags/${name}`]))
  if (!taken || !tag) return []
  return [
    {
      severity: 'warning',
      message: `version ${version} is released already (tag ${taken}); it must be raised before the next release`,
      file,
      line,
    },
  ]
}

function commitTable(commits, tag) {
  if (commits.length === 0) return ''
  const rest = commits.length - COMMITS_SHOWN
  const more = rest > 0 ? `\n… and ${count(rest, 'older commit')}.` : ''
  return `${tag ? `Since ${tag}:` : 'Newest commits:'}\n\n${table(['commit', 'what'], commits.slice(0, COMMITS_SHOWN))}${more}`
}
