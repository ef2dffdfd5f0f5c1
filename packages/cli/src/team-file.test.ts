import { expect, test } from 'vitest'
import { readTeamFile, teamProblems } from './team-file.ts'

const sound = 'version: 1\nname: x\ndescription: Check it all\nagents:\n  a: { command: [sh] }\n'

test('a team file is read', () => {
  expect(readTeamFile(sound, 'f').description).toBe('Check it all')
  expect(teamProblems(sound, 'f')).toEqual([])
})

test('what is wrong with a team file is told with its place', () => {
  const wrong = sound.replace('agents', 'agent')
  expect(() => readTeamFile(wrong, 'f.yaml')).toThrow(expect.objectContaining({ code: 'invalid_team', exitCode: 6 }))
  expect(teamProblems(wrong, 'f.yaml')[0]).toMatch(/^f\.yaml:\d+:\d+ /)
})
