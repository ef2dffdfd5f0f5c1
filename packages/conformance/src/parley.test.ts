// Every scenario of the kit against Parley, one test each, and the claim that docs/conformance.md makes of it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { claimOf, SHEET_ROWS } from './claim.ts'
import { host } from './hosts/parley.ts'
import { runScenario, type ScenarioResult } from './runner.ts'
import { scenarios } from './scenario.ts'
import './scenarios/index.ts'

const results: ScenarioResult[] = []

test.each(scenarios().map(each => ({ title: each.title, scenario: each })))('$title', async ({ scenario }) => {
  const result = await runScenario(host, scenario)
  results.push(result)
  const { status, message } = result
  expect(status, message).toBe('passed')
})

/** What lies beside the trail in a form that each implementation chooses: only its own tests can change that. */
const OF_ITS_OWN_FORM = ['WX-053', 'WX-059', 'WX-060']

test('every row of the sheets has a scenario', () => {
  const text = ['wacp-primitives', 'wacp-mechanisms', 'wacp-audit'].map(name =>
    readFileSync(join(import.meta.dirname, `../../../docs/specs/${name}.md`), 'utf8'),
  )
  const defined = text.flatMap(sheet => sheet.match(/(?<=^\| ?)W[PMX]-\d{3}\b/gm) ?? [])
  expect(SHEET_ROWS.toSorted()).toEqual(defined.toSorted())
  const rows = new Set(scenarios().map(({ id }) => id))
  expect(SHEET_ROWS.filter(id => !rows.has(id))).toEqual(OF_ITS_OWN_FORM)
})

afterAll(() => {
  // Not when single tests were asked for.
  if (results.length < scenarios().length) return
  const { text } = claimOf(host, host.level, results)
  const page = readFileSync(join(import.meta.dirname, '../../../docs/conformance.md'), 'utf8')
  expect(page).toContain(`> ${text}\n`)
})
