// What a check wrote, read back: the form of release-report/<check>.json.
import { join } from 'node:path'
import { FOLDER } from './check.mjs'
import { readJson } from './manifest.mjs'
import { severities } from './markdown.mjs'

export const VERDICTS = { pass: 'READY', warn: 'READY WITH REMARKS', fail: 'NOT READY' }

/** { part } when it is as it must be, otherwise { problem }. */
export function readPart(check) {
  const file = join(FOLDER, `${check}.json`)
  const part = readJson(file)
  const problem = part === undefined ? 'is missing or no JSON' : problemOf(part, check)
  return problem ? { problem: `${file} ${problem}` } : { part }
}

function problemOf(part, check) {
  if (part?.check !== check) return `does not say that it is the check "${check}"`
  if (!Object.hasOwn(VERDICTS, part.verdict)) return 'has no verdict pass, warn or fail'
  if (typeof part.summary !== 'string' || part.summary === '') return 'has no summary'
  if (typeof part.facts !== 'object' || part.facts === null) return 'has no facts'
  if (!Array.isArray(part.findings)) return 'has no list of findings'
  const bad = part.findings.findIndex(each => !severities.includes(each?.severity) || typeof each.message !== 'string')
  return bad < 0 ? undefined : `has a finding without severity or message, number ${bad + 1}`
}
