// Turns that do not end by themselves: nothing is left of them.
import { until } from '../world.ts'
import { type Check, equal, fail, team } from './check.ts'

export const timeout: Check = {
  name: 'timeout',
  title: 'a timeout ends it',
  async run({ program, world }) {
    world.team(team(program, { agent: ', timeout: 15s', rest: 'limits: { attempts: 1 }\n' }))
    world.server.script = () => 'hang'
    const view = await world.solve('Think about it.')
    equal('the run', view.state, 'failed')
    if (!view.tasks[0]?.note?.includes('15000 ms')) fail(`it failed otherwise: ${view.tasks[0]?.note}`)
    equal('processes left', world.leftovers().join(', '), '')
  },
}

export const abort: Check = {
  name: 'abort',
  title: 'an abort leaves nothing running, and what was used is told',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = ({ results }) =>
      results.length === 0 ? { calls: [program.write('hello.txt', 'hello')] } : 'hang'
    const solving = world.start('solve', 'Think about it.', '--yes')
    await world.server.until(({ turn }) => turn !== undefined && turn.results.length > 0)
    if (world.leftovers().length === 0) fail('no process of the turn was seen')
    await world.parley('abort', 'last')
    await solving.ended
    const { state, usage } = await world.show()
    equal('the run', state, 'aborted')
    equal('turns that are told', usage.turns, 1)
    if (!usage.tokens_in) fail('the tokens of the turn are not told')
    await until('end of its processes', () => world.leftovers().length === 0)
  },
}
