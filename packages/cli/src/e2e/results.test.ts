// Results in a real terminal: what changed, taking it over with its question, and taking it back. The screens are kept
// in results.screens.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasTmux, Pty } from '../testing/pty.ts'
import { agentLine as agent } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const SCRIPT = 'echo swept > floor.txt; echo \'{"scripts":{"test":"true"}}\' > package.json; echo I swept every room.'
const TEAM = `version: 1
name: house
description: Tidy the house
agents:
${agent('sweep', SCRIPT)}plan:
  - { id: floor, title: Sweep the floor, agent: sweep, prompt: Sweep., check: [test, -f, floor.txt] }
`

/** The last lines of a window: what the command ended with, and a terminal that is as it was. */
const ENDED = /^ended with 0\nicanon$/m

/** What differs from run to run: ids, commits, times. */
function steady(screen: string): string {
  return screen
    .replaceAll(/\brun_[0-9a-z]{6,26}\b/g, 'run_……')
    .replaceAll(/\b[0-9a-f]{10}\b/g, 'c0ffee0000')
    .replaceAll(/\b[0-9a-f]{7}\.\.[0-9a-f]{7}\b/g, '0000000..0000000')
    .replaceAll(/ +$/gm, '')
}

test.runIf(hasTmux).each([44, 80, 120])(
  'on %i columns: the work, its question, and the way back',
  async columns => {
    world.team(TEAM)
    await world.up()
    await world.ok('run', 'parley.yaml', '--yes')
    const kept: string[] = []
    const keep = (title: string, screen: string) => kept.push(`=== ${title}\n${steady(screen)}\n`)
    const size = { columns, rows: 40 }
    using paged = new Pty(world, "GIT_PAGER='cat; echo paged' parley diff", size)
    keep('the work', await paged.shows(ENDED))
    expect(paged.screen()).toContain('paged')
    using asked = new Pty(world, 'parley apply', size)
    keep('the question', await asked.shows('Apply it?'))
    expect(world.git('log', '--format=%s')).toBe('x\nx')
    await asked.insist('y', 'ended with')
    keep('applied', await asked.shows(ENDED))
    await asked.shows(/^icanon$/m)
    expect(world.git('log', '-1', '--format=%s')).toBe('Tidy the house')
    using undone = new Pty(world, 'parley undo', size)
    keep('taken back', await undone.shows(ENDED))
    expect(world.git('log', '--format=%s')).toBe('x\nx')
    await expect(kept.join('\n')).toMatchFileSnapshot(`results.screens/${columns}.txt`)
  },
  120_000,
)

test.runIf(hasTmux)(
  'at the merge gate a person sees the work before they answer, and its patch with one key',
  async () => {
    world.team(`${TEAM}gates: { integration: { on: true } }\n`)
    await world.up()
    using pty = new Pty(world, 'parley run parley.yaml --yes', { rows: 50 })
    const asked = await pty.shows('2 files, +2 -0')
    for (const each of [
      'be merged',
      'I swept every room.',
      'check `test -f floor.txt`: accepted',
      'floor.txt     added  +1',
    ])
      expect(asked).toContain(each)
    // A question that has just come up takes no key yet.
    const patch = () => {
      pty.press('d')
      return pty.screen()
    }
    await expect.poll(patch, { interval: 500, timeout: 20_000 }).toContain('+swept')
    pty.press('y')
    await pty.shows(ENDED)
    expect(world.git('branch', '--list', 'parley/*')).not.toBe('')
  },
  60_000,
)
