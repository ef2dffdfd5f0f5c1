// Ending a run in a real terminal: from the terminal that watches it, and from another one. The screens are kept in
// abort.screens. And the terminal after it was stopped with Ctrl-Z, and after a crash.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasTmux, Pty } from '../testing/pty.ts'
import { agentLine as agent } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

/** Keeps half of its work, says so with a file outside, and goes on for long. */
const team = (begun: string) => `version: 1
name: house
description: Tidy the house
agents:
${agent('sweep', `echo half > floor.txt; parley ws checkpoint "half of the floor" && touch ${begun}; exec sleep 600`)}plan:
  - { id: floor, title: Sweep the floor, agent: sweep, prompt: x }
  - { id: table, title: Wipe the table, agent: sweep, prompt: x, needs: [floor] }
`

/** Also an id that a narrow window breaks, who runs the tests, and what a slow machine says before the run begins. */
function steady(screen: string): string {
  return screen
    .replaceAll(/^Reading [\s\S]*?\bstarted\.\n/gm, '')
    .replaceAll(/\brun_[0-9a-z]+\n?[0-9a-z]+$/gm, 'run_……')
    .replaceAll(/\brun_[0-9a-z]{6,26}\b/g, 'run_……')
    .replaceAll(/\S+ ended it:[\s\S]*?(?=\n +kept|\n +✗|\nresult|\nkept)/g, 'mira ended it: …')
    .replaceAll(/\b[0-9a-f]{10}\b/g, 'c0ffee0000')
    .replaceAll(/ +(\d+m\d\ds|\d+(\.\d)?s)\b/g, ' 0s')
    .replaceAll(/ +$/gm, '')
}

test.runIf(hasTmux).each([44, 80, 120])(
  'on %i columns: a run is ended from where it is watched and from elsewhere, and what it kept is named',
  async columns => {
    const begun = join(world.folder, 'begun')
    world.team(team(begun))
    await world.up()
    const size = { columns, rows: 30 }
    const kept: string[] = []
    const keep = (title: string, screen: string) => kept.push(`=== ${title}\n${steady(screen)}\n`)
    const atWork = () => expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true)
    using watched = new Pty(world, 'parley run parley.yaml --yes', size)
    await atWork()
    watched.press('C-c')
    await watched.shows('leave it running')
    watched.press('e')
    await watched.shows('ended with 1')
    keep('ended where it is watched', await watched.shows(/^icanon$/m))
    rmSync(begun)
    await world.detach('--yes')
    await atWork()
    using elsewhere = new Pty(world, 'parley abort last --reason "It rains"; parley tasks last', size)
    await elsewhere.shows('Aborted')
    keep('ended from elsewhere', await elsewhere.shows(/^icanon$/m))
    for (const { state } of (await world.json<{ runs: { state: string }[] }>('runs')).runs)
      expect(state).toBe('aborted')
    await expect(kept.join('\n')).toMatchFileSnapshot(`abort.screens/${columns}.txt`)
  },
  120_000,
)

test.runIf(hasTmux).each([44, 80, 120])(
  'on %i columns: while a run with an agent that does not stop is being ended, it says so, and so does leaving',
  async columns => {
    const begun = join(world.folder, 'begun')
    const deaf = `trap '' INT TERM; touch ${begun}; while :; do sleep 1; done`
    world.team(
      `version: 1\nname: house\ndescription: Tidy the house\nagents:\n${agent('sweep', deaf)}plan:\n  - { id: floor, title: Sweep the floor, agent: sweep, prompt: x }\n`,
    )
    await world.up()
    using pty = new Pty(world, 'parley run --yes', { columns, rows: 24 })
    await pty.shows(/● Sweep the floor/)
    await expect.poll(() => existsSync(begun), { timeout: 20_000 }).toBe(true)
    pty.press('C-c')
    await pty.shows('leave it running')
    pty.press('e')
    const ending = await pty.shows('Ending it')
    pty.press('C-c')
    await pty.shows('ended with 130')
    const left = await pty.shows(/^icanon$/m)
    expect(left).not.toMatch(/The node is gone|continues without/)
    await expect(`${steady(ending)}\n\n=== left\n${steady(left)}\n`).toMatchFileSnapshot(
      `abort.screens/ending-${columns}.txt`,
    )
    const { runs } = await world.json<{ runs: { run: string }[] }>('runs')
    expect((await world.over(runs[0]!.run)).state).toBe('aborted')
  },
  120_000,
)

test.runIf(hasTmux)(
  'Ctrl-Z gives the terminal back as it was, and with `fg` the question is there again and takes its key',
  async () => {
    world.team(team(join(world.folder, 'begun')))
    await world.up()
    // Only a shell that controls jobs is left with one that is stopped.
    const line = "set -m; parley run parley.yaml; stty -a | grep -o '[-]*icanon' | tr a-z A-Z; read _; fg"
    using pty = new Pty(world, line)
    await pty.shows('Start?')
    pty.press('C-z')
    expect(await pty.shows(/^-?ICANON$/m)).toMatch(/^ICANON$/m)
    pty.press('Enter')
    await expect.poll(() => pty.screen().split('Start?').length, { timeout: 20_000 }).toBe(3)
    await pty.insist('n', 'ended with')
    await pty.shows(/^icanon$/m)
  },
  60_000,
)

test.runIf(hasTmux)(
  'the terminal is as it was after a crash of the command in the middle of a question',
  async () => {
    world.team(team(join(world.folder, 'begun')))
    await world.up()
    const crash = join(world.folder, 'crash.cjs')
    writeFileSync(crash, "process.on('SIGUSR2', () => { throw new Error('crashed') })\n")
    using pty = new Pty(world, `NODE_OPTIONS=--require=${crash} parley run parley.yaml`)
    await pty.shows('Start?')
    process.kill(pty.pid, 'SIGUSR2')
    await pty.shows(/^ended with [1-9]/m)
    await pty.shows(/^icanon$/m)
    pty.paste('pasted')
    // Marks of what is pasted, which a shell that did not ask for them takes for text.
    expect(await pty.shows('pasted')).not.toContain('200~')
  },
  60_000,
)
