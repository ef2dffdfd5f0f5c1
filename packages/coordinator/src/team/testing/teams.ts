// For tests of team files: texts in which a mark shows where a mistake is expected.
import { commandKind } from '@parley/agents'
import type { Result } from '@parley/core'
import type { TeamProblem } from '../problem.ts'
import { teamReader } from '../read.ts'
import type { Team } from '../team.ts'

/** Files whose agents are commands, as far as this package knows. */
export const { read: readTeam, schema: teamSchema } = teamReader([commandKind])

export const MARK = '▸'

/** The text without its mark, and where that stood. */
export function marked(text: string): {
  readonly text: string
  readonly line: number
  readonly column: number
} {
  const before = text.slice(0, text.indexOf(MARK)).split('\n')
  return { text: text.replace(MARK, ''), line: before.length, column: before.at(-1)!.length + 1 }
}

export function problemsOf(result: Result<Team>): readonly TeamProblem[] {
  return result.ok ? [] : (result.error.details.problems as readonly TeamProblem[])
}

export function problemsIn(text: string): readonly TeamProblem[] {
  return problemsOf(readTeam(text))
}

/** A file with everything in it. */
export const FULL = `version: 1
name: release-check
description: Is this repository fit to be released?
agents:
  writer: { preset: claude, model: sonnet, args: [--verbose] }
  tests:
    command: [node, checks/tests.mjs, '{folder}']
    prompt: none
    output: json-lines
    env: { CI: 'true' }
    pass: [NPM_TOKEN]
    timeout: 5m
    max_output: 1MiB
    slots: 2
    setup: []
    carry: [.env]
limits:
  concurrency: 8
  attempts: 3
  timeout: 1h30m
  budget: { tokens: 1000000, cost: 12.5 }
  breakers: { no_progress: 5 }
setup: { run: [npm, ci], timeout: 10m, pass: [NPM_TOKEN] }
carry: ['fixtures/large/**']
approval: none
gates:
  preset: supervised
  integration: { on: true, timeout: 10m, fallback: reject }
  workspace_abort: { timeout: never }
  escalation: { timeout: never, fallback: delegate_to_coordinator }
  injection: false
merge: { conflicts: ask }
plan:
  - id: tests
    title: Run the tests
    agent: tests
    prompt: |
      Run the tests for {intent}.
    needs: [build]
    paths: [report/**]
    attempts: 1
    timeout: 250ms
    priority: urgent
    check: [npm, test]
    review: { by: writer, prompt: 'Is {intent} done?' }
    budget: { tokens: 5000, working_time: 90s, context: 2000, checkpoints: 1MiB, trail: 64KiB, mail: 4KiB }
    merge: { strategy: evaluated, by: writer, prompt: 'Join {intent}.' }
  - id: build
    agent: writer
    prompt: Build it.
    paths: []
  - id: docs
    needs: [build]
    prompt: All of it is about {intent}.
    plan:
      - { id: guide, agent: writer, prompt: Write the guide., merge: { strategy: direct, conflicts: rework } }
`
