import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { planFor, soloTeam } from './team.ts'
import { FULL, readTeam } from './testing/teams.ts'

test('a team of one agent is a team as a file with that agent would give it', () => {
  const text = 'version: 1\nname: claude\nagents:\n  claude: { preset: claude, timeout: 5m }\n'
  expect(soloTeam('claude', { preset: 'claude', timeoutMs: 300_000 })).toEqual(unwrap(readTeam(text)))
  expect(soloTeam('claude', { preset: 'claude', slots: 1 }).agents.claude).toEqual({
    preset: 'claude',
    slots: 1,
  })
})

describe('the plan of a run', () => {
  test('the intent is filled in as it is, in prompts and reviews, and nothing else is touched', () => {
    const team = unwrap(readTeam(FULL.replace('Build it.', 'Build {intent}, {other}, {intent}, {{intent}}.')))
    const plan = planFor(team, "$& $1 $' {intent}")
    expect(plan.map(({ prompt }) => prompt)).toEqual([
      "Build $& $1 $' {intent}, {other}, $& $1 $' {intent}, {$& $1 $' {intent}}.",
      "Run the tests for $& $1 $' {intent}.\n",
      "All of it is about $& $1 $' {intent}.",
    ])
    expect(plan[1]?.merge.prompt).toBe("Join $& $1 $' {intent}.")
    expect(plan[2]?.plan?.[0]?.prompt).toBe('Write the guide.')
    expect(plan[1]?.review).toEqual({ by: 'writer', prompt: "Is $& $1 $' {intent} done?" })
    expect(plan.map(({ prompt, review, merge, ...rest }) => rest)).toEqual(
      team.plan.map(({ prompt, review, merge, ...rest }) => rest),
    )
  })

  test('without a plan the intent is the one task of the one agent', () => {
    expect(planFor(soloTeam('claude', { preset: 'claude' }), 'Fix the login.\nIt fails.')).toEqual([
      {
        id: 'solve',
        title: 'Fix the login.',
        agent: 'claude',
        prompt: 'Fix the login.\nIt fails.',
        needs: [],
        attempts: 2,
        priority: 'normal',
        budget: {},
        merge: { strategy: 'layered', conflicts: 'rework' },
      },
    ])
  })

  test.each([
    ['x'.repeat(100), `${'x'.repeat(79)}…`],
    [`${'x'.repeat(78)}😀y`, `${'x'.repeat(78)}…`],
    ['\r\n  Fix it.  \r\nNow.', 'Fix it.'],
    ['', 'solve'],
    [' \n ', 'solve'],
  ])('its title is the first line of the intent, cut to 80: %j', (intent, title) => {
    expect(planFor(soloTeam('one', { preset: 'qwen' }), intent)).toMatchObject([{ title, prompt: intent }])
  })
})
