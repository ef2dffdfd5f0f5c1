// What every check has in common: it looks at a repository, writes release-report/<check>.md and .json, and never
// prints a secret.
import { lstatSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from './limits.mjs'
import { cell, place, severities } from './markdown.mjs'
import { CannotCheck, openRepository, tryGit } from './repository.mjs'
import { redact } from './secret-patterns.mjs'

export const FOLDER = 'release-report'

/** A line of progress. */
export function say(text) {
  console.log(redact(text))
}

/**
 * Runs a check. `look` gets the repository and answers { summary, findings, facts, body }: a sentence, a list of {
 * severity: 'error' | 'warning' | 'info', message, file?, line? }, plain data, and Markdown to show below the findings.
 * A finding is no failure of the check: the process ends with 0. It ends with 1 when the check could not be made.
 */
export async function check(name, title, look) {
  try {
    const repository = openRepository()
    mustBeKept(name)
    const result = redacted(await look(repository))
    const findings = sorted(result.findings)
    const verdict = verdictOf(findings)
    const { summary, facts, body = '' } = result
    const kept = findings.slice(0, limits.findingsKept)
    const json = {
      check: name,
      verdict,
      summary,
      findings: kept,
      facts: { ...facts, findings: findings.length },
    }
    write(`${name}.json`, `${JSON.stringify(json, null, 2)}\n`)
    write(`${name}.md`, section(name, title, verdict, summary, findings, body))
    for (const each of findings.slice(0, 10)) say(`  ${each.severity}: ${place(each)}${each.message}`)
    if (findings.length > 10) say(`  … and ${findings.length - 10} more in ${FOLDER}/${name}.md`)
    say(`${name}: ${verdict}. ${summary}`)
  } catch (error) {
    if (!(error instanceof CannotCheck)) throw error
    console.error(redact(`${name}: could not check. ${error.message}`))
    process.exitCode = 1
  }
}

/** A run of Parley takes over what git does not ignore; by hand it does not matter. */
function mustBeKept(name) {
  if (!process.env.PARLEY_RUN || tryGit(['check-ignore', '-q', `${FOLDER}/${name}.json`]) === undefined) return
  throw new CannotCheck(
    `A .gitignore leaves out ${FOLDER}/${name}.json, so the result would be lost. Let git see ${FOLDER}/.`,
  )
}

function verdictOf(findings) {
  if (findings.some(({ severity }) => severity === 'error')) return 'fail'
  return findings.some(({ severity }) => severity === 'warning') ? 'warn' : 'pass'
}

/** Worst first; the order of the check within one severity. */
function sorted(findings) {
  return findings.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
}

function section(name, title, verdict, summary, findings, body) {
  const lines = [`## ${title}`, '', `**${verdict}**: ${cell(summary)}`, '']
  if (findings.length > 0) {
    lines.push('| | where | what |', '|---|---|---|')
    for (const { severity, file, line, message } of findings.slice(0, limits.findingsShown)) {
      const where = file ? `\`${cell(line ? `${file}:${line}` : file).replaceAll('`', "'")}\`` : ''
      lines.push(`| ${severity} | ${where} | ${cell(message)} |`)
    }
    const more = findings.length - limits.findingsShown
    lines.push('')
    if (more > 0) lines.push(`… and ${more} more in \`${FOLDER}/${name}.json\`.`, '')
  }
  if (body) lines.push(body.trim(), '')
  return lines.join('\n')
}

/** By way of a new file, so that a link in the repository never makes this write somewhere else. */
export function write(name, text, folder = FOLDER) {
  mkdirSync(folder, { recursive: true })
  if (lstatSync(folder).isSymbolicLink())
    throw new CannotCheck(`${folder} is a symbolic link; the report is not written through it.`)
  const draft = join(folder, `.${name}.${process.pid}`)
  writeFileSync(draft, text)
  renameSync(draft, join(folder, name))
}

function redacted(value) {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map(redacted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redacted(each)]))
}
