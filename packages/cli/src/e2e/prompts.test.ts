// What a person sees and presses, in a real terminal: the plan, the inbox, Ctrl-C, an answer from elsewhere, and the
// terminal after each way to end. The screens are kept in prompts.screens.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GateView, RunSummaryView } from '../node/views.ts'
import { hasTmux, Pty } from '../testing/pty.ts'
import { agentLine as agent } from '../testing/team.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const TEAM = `version: 1
name: house
description: Tidy the house
agents:
${agent('sweep', 'echo swept > floor.txt')}${agent('wipe', 'echo wiped > table.txt')}gates: { preset: supervised, integration: { timeout: never } }
plan:
  - { id: floor, title: Sweep the floor, agent: sweep, prompt: "Sweep the floor in every room, then say what you found." }
  - { id: table, title: Wipe the table, agent: wipe, prompt: Wipe it. }
`

/** What differs from run to run: ids, times, folders. */
function steady(screen: string): string {
  return screen
    .replaceAll(/\S*parley-e2e-\S*/g, '/projects/…')
    .replaceAll(/\b(run|gate|sig)_[0-9a-z]{6,26}\b/g, '$1_……')
    .replaceAll(/ +(\d+m\d\ds|\d+(\.\d)?s)\b/g, ' 0s')
    .replaceAll(/\b\d+ (s|min)\b/g, '0 $1')
    .replaceAll(/ +$/gm, '')
}

const waiting = async () => (await world.json<{ waiting: GateView[] }>('inbox')).waiting
const newest = async () => (await world.json<{ runs: RunSummaryView[] }>('runs')).runs[0]!

test.runIf(hasTmux).each([44, 80, 120])(
  'on %i columns: the plan, its help, the merges, and the inbox',
  async columns => {
    // The second task ends once the first one is asked about.
    const go = join(world.folder, 'go')
    world.team(TEAM.replace('echo wiped', `until [ -e ${go} ]; do sleep 0.1; done; echo wiped`))
    await world.up()
    using pty = new Pty(world, 'parley run parley.yaml', { columns, rows: 24 })
    const kept: string[] = []
    const keep = (title: string, screen: string) => kept.push(`=== ${title}\n${steady(screen)}\n`)
    keep('the plan', await pty.shows('Start?'))
    pty.press('?')
    keep('its help', await pty.shows('hides this'))
    pty.press('?', 'x')
    keep('a wrong key', await pty.shows("'x' does nothing here"))
    pty.press('y')
    await pty.shows('be merged')
    writeFileSync(go, '')
    await pty.shows(/merge all 2/)
    keep('two merges', await pty.shows('1 file, +1 -0'))
    pty.press('C-c')
    keep('Ctrl-C', await pty.shows('leave it running'))
    await pty.insist('w', 'icanon')
    keep('left', pty.screen())
    using inbox = new Pty(world, 'parley inbox', { columns, rows: 24 })
    keep('the inbox', await inbox.shows('2 things wait'))
    inbox.press('1')
    await inbox.shows('Esc back')
    keep('one opened', await inbox.shows('1 file, +1 -0'))
    keep('words', await inbox.insist('n', 'Enter sends it'))
    inbox.press('Escape')
    await inbox.shows('merge all 2')
    await inbox.insist('a', 'Nothing is waiting for you.')
    inbox.press('q')
    await inbox.shows('ended with 0')
    expect((await world.over((await newest()).run)).state).toBe('done')
    await expect(kept.join('\n')).toMatchFileSnapshot(`prompts.screens/${columns}.txt`)
  },
  120_000,
)

test.runIf(hasTmux)(
  'a plan that is left waiting never starts by itself, and can be started or cancelled later',
  async () => {
    world.team(TEAM.replace('integration: { timeout: never }', 'task_approval: { timeout: 300ms, fallback: approve }'))
    await world.up()
    using pty = new Pty(world, 'parley run parley.yaml')
    await pty.shows('Nothing starts until you answer.')
    pty.press('C-c')
    await pty.shows('Cancel it, or leave it waiting?')
    pty.press('w')
    await pty.shows('ended with 130')
    const gates = await waiting()
    expect(gates).toHaveLength(2)
    for (const gate of gates) expect(gate).not.toHaveProperty('deadline')
    // A gate's short id answers that gate alone.
    const { out } = await world.parley('gates')
    const [id = ''] = /gate_[0-9a-z]+/.exec(out) ?? []
    await world.ok('reject', id)
    expect(await waiting()).toHaveLength(1)
    using again = new Pty(world, 'parley')
    await again.shows('Waiting for you')
    await again.shows('parley inbox')
    expect((await world.parley('runs')).out).toMatch(/waiting for you|waiting/)
  },
  60_000,
)

test('the desktop is told what waits and what has ended, where that is configured', async () => {
  world.team(TEAM)
  const told = join(world.folder, 'told')
  writeFileSync(join(world.folder, 'bin', 'notify-send'), `#!/bin/sh\necho "$@" >> ${told}\n`, { mode: 0o755 })
  mkdirSync(join(world.home, 'default'), { recursive: true, mode: 0o700 })
  writeFileSync(join(world.home, 'default', 'config.yaml'), 'notify: { desktop: true }\n', { mode: 0o600 })
  await world.up()
  const id = (await world.detach()).slice(-6)
  const read = () => (existsSync(told) ? readFileSync(told, 'utf8') : '')
  await expect.poll(read, { timeout: 20_000 }).toContain(`--app-name=Parley Parley run_${id} waits for your answer.`)
  await world.ok('abort', 'last')
  await expect.poll(read, { timeout: 20_000 }).toMatch(/has ended: (rejected|aborted)\./)
}, 60_000)

test.runIf(hasTmux).each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const)(
  'the terminal is as it was after %s, and nothing has started',
  async signal => {
    world.team(TEAM)
    await world.up()
    using pty = new Pty(world, 'parley run parley.yaml')
    await pty.shows('Start?')
    process.kill(pty.pid, signal)
    if (signal === 'SIGINT') process.kill(pty.pid, signal)
    await pty.shows('ended with')
    await pty.shows(/^icanon$/m)
    expect((await newest()).state).toBe('waiting')
  },
  60_000,
)

test.runIf(hasTmux)(
  'an intent that comes through a pipe is asked about on the terminal, and so is Ctrl-C',
  async () => {
    world.team(
      TEAM.replace(
        'preset: supervised, integration: { timeout: never }',
        'preset: supervised, integration: { on: false }',
      ),
    )
    await world.up()
    using pty = new Pty(world, 'echo "Tidy the house" | parley solve -')
    await pty.shows('Start?')
    pty.press('C-c')
    await pty.shows('Cancel it, or leave it waiting?')
    await pty.insist('b', 'y start')
    await pty.insist('y', 'Done.')
    await pty.shows('ended with 0')
    await pty.shows(/^icanon$/m)
  },
  60_000,
)

test.runIf(hasTmux)(
  'after a wrong passphrase and none, one Ctrl-C asks what shall become of the plan',
  async () => {
    world.team(TEAM)
    await world.up()
    await world.start(['passphrase', '--stdin'], { input: 'correct horse\n' }).ended
    using pty = new Pty(world, 'parley run')
    await pty.shows('Start?')
    await pty.insist('y', 'Passphrase:')
    pty.press('wrong horse', 'Enter')
    await pty.shows('Wrong passphrase.')
    await pty.shows(/Wrong passphrase\.\nPassphrase:/)
    pty.press('C-c')
    await pty.shows('No passphrase was given. Nothing was changed.')
    await pty.shows('y start')
    pty.press('C-c')
    await pty.shows('Cancel it, or leave it waiting?')
    await pty.insist('w', 'ended with 130')
    expect(await waiting()).toHaveLength(2)
  },
  60_000,
)

test.runIf(hasTmux)(
  'after a node that died and a smaller window the run is on the screen once',
  async () => {
    world.team(TEAM.replace('echo swept', 'sleep 600; echo swept').replace('echo wiped', 'sleep 600; echo wiped'))
    await world.ok('runs')
    using pty = new Pty(world, 'parley run --yes')
    await pty.shows(/● Sweep the floor/)
    const pid = world.nodePid!
    process.kill(pid, 'SIGKILL')
    await pty.shows('continues 1 run that had been interrupted')
    const back = await pty.shows(/● Sweep the floor/)
    expect(back.match(/Tidy the house/g)).toHaveLength(1)
    for (const [columns, rows] of [
      [44, 16],
      [100, 30],
      [30, 10],
    ] as const) {
      pty.resize(columns, rows)
      await new Promise(resolve => setTimeout(resolve, 1500))
      expect(pty.screen().match(/Tidy the house/g), pty.screen()).toHaveLength(1)
    }
    await world.ok('abort', 'last')
    await pty.shows('ended with 1')
  },
  60_000,
)

test.runIf(hasTmux)(
  'an answer from elsewhere reaches the open prompt, and a smaller window is drawn anew',
  async () => {
    world.team(TEAM)
    await world.up()
    using pty = new Pty(world, 'parley run parley.yaml')
    await pty.shows('Start?')
    pty.resize(44, 16)
    await pty.shows('Start?')
    await world.ok('approve', (await newest()).run)
    const screen = await pty.shows('Answered elsewhere')
    await pty.shows('merge all 2')
    await pty.insist('a', 'ended with 0')
    expect(screen).not.toContain('Start?')
    expect(pty.screen()).toContain('Done.')
  },
  60_000,
)
