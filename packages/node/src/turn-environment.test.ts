// What a turn finds in its environment, with everything real: what the one who started the run has, and `parley`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesWith, ground } from './testing/ground.ts'
import { realNode } from './testing/real.ts'

const SECRET = 'a-value-that-nobody-may-find'

const team = (script: string, more = '') =>
  `version: 1\nname: t\napproval: none\nagents:\n  a: { command: [sh, -c, '${script}'], pass: [LEVEL, MY_KEY] }\n${more}`

test('a variable that the node does not have comes with the run, in its checks too, and stays in memory', async () => {
  const place = ground()
  const { start, ended, log, node } = await realNode(place, { LEVEL: 'node' })
  const text = team(
    'test "$MY_KEY" = "$(cat "$HOME"/expected)" && echo "level $LEVEL"',
    'plan:\n  - { id: one, agent: a, prompt: x, check: [checker] }\n',
  )
  writeFileSync(join(place.home, 'expected'), SECRET)
  writeFileSync(join(place.home, 'checker'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  const environment = { LEVEL: 'caller', MY_KEY: SECRET, PATH: `${place.home}:${place.env.PATH}` }
  const view = await ended(await start(text, environment))
  expect(view).toMatchObject({ state: 'done', tasks: [{ steps: [{ text: 'level caller' }, {}] }] })
  await node.stop('enough')
  expect(JSON.stringify(log.lines)).not.toContain(SECRET)
  expect(filesWith(place, SECRET)).toEqual([])
})

test('after a restart the node’s own is used, and the log says so', async () => {
  const place = ground()
  const script = 'test -e "$HOME"/go || sleep 60; echo "level $LEVEL"'
  const first = await realNode(place, { LEVEL: 'node' })
  const run = await first.start(team(script), { LEVEL: 'caller' })
  await first.node.stop('enough')
  writeFileSync(join(place.home, 'go'), '')
  const { ended, log } = await realNode(place, { LEVEL: 'node' })
  const view = await ended(run)
  expect(view.tasks[0]?.steps.at(-1)?.text).toBe('level node')
  expect(log.lines.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(`${run}.*environment of this node`),
  )
})

test('parley is there, and runs what the node was told', async () => {
  const place = ground()
  const entry = join(place.home, 'cli.mjs')
  writeFileSync(entry, 'console.log("called:", ...process.argv.slice(2))')
  const { start, ended } = await realNode(place, { PARLEY_COMMAND: entry })
  const view = await ended(await start(team('parley ws status'), { PATH: '/usr/bin:/bin' }))
  expect(view.tasks[0]?.steps[0]?.text).toBe('called: ws status')
})
