// What lets a program in: its API key alone, and what `parley doctor` says of it.
import { KEY } from '../programs.ts'
import { type Check, done, equal, fail, team } from './check.ts'

interface Examined {
  readonly checks: readonly { readonly check: string; readonly state: string; readonly text: string }[]
}

export const key: Check = {
  name: 'key',
  title: 'an API key is enough',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = () => ({ text: 'Yes.' })
    done(await world.solve('Are you there?'))
    const asked = world.server.log.find(({ turn }) => turn && !turn.side)
    if (!asked) fail('the model was not asked')
    equal('the key that was sent', asked.credential, KEY)
  },
}

export const doctor: Check = {
  name: 'doctor',
  title: '`parley doctor --live`',
  async run({ program, world }) {
    world.server.script = () => ({ text: 'OK' })
    const name = `agent ${program.name}`
    const look = async (...flags: readonly string[]) => {
      const { checks } = await world.json<Examined>('doctor', ...flags)
      return checks.find(({ check }) => check === name) ?? fail(`doctor does not know the ${name}`)
    }
    equal('with a key', (await look()).state, 'ok')
    const live = await look('--live')
    if (live.state !== 'ok') fail(`a live turn: ${live.text}`)
    if (world.server.turns.length === 0) fail('the model was not asked')
    world.server.script = () => ({ trouble: 'unauthorized' })
    const wrong = await look('--live')
    equal('with a wrong key', wrong.state, 'problem')
    if (!/\b401\b|not logged in|api.?key|\/login/i.test(wrong.text))
      fail(`with a wrong key it says only: ${wrong.text}`)
  },
}
