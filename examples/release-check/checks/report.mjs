#!/usr/bin/env node
// Joins what the checks wrote into RELEASE-REPORT.md: the verdict first, then what to do, then the checks one by one.
// What was not checked counts against the release.
import { join } from 'node:path'
import { FOLDER, say, write } from './lib/check.mjs'
import { manifestVersion, readText } from './lib/manifest.mjs'
import { cell, count, place, table } from './lib/markdown.mjs'
import { readPart, VERDICTS } from './lib/part.mjs'
import { CannotCheck, git, openRepository } from './lib/repository.mjs'
import { redact } from './lib/secret-patterns.mjs'

const CHECKS = {
  tests: 'Tests',
  secrets: 'Secrets in the history',
  licences: 'Licences',
  changelog: 'Changelog',
  size: 'Size',
  links: 'Links in the documentation',
}
const FIRST_SHOWN = 10

try {
  report(openRepository())
} catch (error) {
  if (!(error instanceof CannotCheck)) throw error
  console.error(`report: could not be written. ${error.message}`)
  process.exitCode = 1
}

function report({ commit, short }) {
  const parts = Object.keys(CHECKS).map(read)
  const worst = ['fail', 'warn', 'pass'].find(verdict => parts.some(part => part.verdict === verdict))
  const verdict = VERDICTS[worst]
  const version = manifestVersion()?.version
  const subject = git('log', '-1', '--format=%s', commit).trim()
  const lines = [
    `# Release report: ${verdict}`,
    '',
    `${version ? `Version ${version}, commit` : 'Commit'} ${short}: ${cell(subject)}`,
    '',
    table(
      ['check', 'verdict', 'summary'],
      parts.map(part => [CHECKS[part.check], part.verdict, part.summary]),
    ),
    ...first(parts),
    ...parts.map(part => part.details),
  ]
  write('RELEASE-REPORT.md', redact(`${lines.join('\n').trim()}\n`), '.')
  for (const part of parts) say(`${part.verdict.padEnd(4)}  ${CHECKS[part.check]}: ${part.summary}`)
  say(`\n${verdict}\nThe whole report is in RELEASE-REPORT.md.`)
}

/** What a check wrote. One that wrote nothing, or nothing that makes sense, was not made. */
function read(check) {
  const { part, problem } = readPart(check)
  const details = readText(join(FOLDER, `${check}.md`))
  if (part && details) return { ...part, details }
  const summary = `Not checked: ${problem ?? `${FOLDER}/${check}.md is missing`}.`
  const findings = [{ severity: 'error', message: summary }]
  return {
    check,
    verdict: 'fail',
    summary,
    findings,
    details: `## ${CHECKS[check]}\n\n**fail**: ${summary}\n`,
  }
}

/** Everything that stops the release; where nothing does, the remarks. */
function first(parts) {
  const all = parts.flatMap(part => part.findings.map(finding => ({ ...finding, check: part.check })))
  const errors = all.filter(({ severity }) => severity === 'error')
  const remarks = all.filter(({ severity }) => severity === 'warning')
  const shown = errors.length > 0 ? errors : remarks
  if (shown.length === 0) return ['Nothing stands in the way of a release.', '']
  const rest = shown.length - FIRST_SHOWN
  return [
    errors.length > 0 ? `## ${count(errors.length, 'thing')} to mend first` : `## ${count(remarks.length, 'remark')}`,
    '',
    ...shown.slice(0, FIRST_SHOWN).map(each => `- ${each.check}: ${cell(place(each) + each.message)}`),
    ...(rest > 0 ? [`- … and ${rest} more below`] : []),
    '',
  ]
}
