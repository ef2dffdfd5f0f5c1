// What one turn must show: the work, the answer, what it cost, and what it is doing meanwhile.
import { usage } from '../server/dialect.ts'
import { type Check, done, equal, fail, inTurn, team } from './check.ts'

const ANSWER = 'The answer is forty-two.'

export const file: Check = {
  name: 'file',
  title: 'a file on the branch',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = inTurn({ calls: [program.write('hello.txt', 'hello')] }, { text: 'I wrote hello.txt.' })
    const view = await world.solve('Write hello into hello.txt.')
    done(view)
    equal('hello.txt', world.result(view, 'hello.txt')?.trim(), 'hello')
  },
}

export const answer: Check = {
  name: 'answer',
  title: 'its answer',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = () => ({ text: ANSWER })
    const view = await world.solve('What is the answer?')
    done(view)
    equal('the answer', view.tasks[0]?.steps.at(-1)?.text, ANSWER)
  },
}

export const cost: Check = {
  name: 'cost',
  title: 'tokens, and money where it tells',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = inTurn({ calls: [program.write('hello.txt', 'hello')] }, { text: ANSWER })
    const view = await world.solve('Write hello into hello.txt.')
    done(view)
    const answers = world.server.turns.length
    equal('tokens read', view.usage.tokens_in, answers * usage.input)
    equal('tokens from a cache', view.usage.tokens_cached, answers * usage.cached)
    equal('tokens written', view.usage.tokens_out, answers * usage.output)
    if (program.money && !view.usage.usd) fail('no money is told')
  },
}

export const activity: Check = {
  name: 'activity',
  title: 'what it is doing',
  async run({ program, world }) {
    world.team(team(program))
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    world.server.script = async ({ results }) => {
      if (results.length === 0) return { calls: [program.write('hello.txt', 'hello')] }
      await held
      return { text: ANSWER }
    }
    const solving = world.start('solve', 'Write hello into hello.txt.', '--yes')
    await world.server.until(({ turn }) => turn !== undefined && turn.results.length > 0)
    const seen = (await world.show()).tasks[0]?.activity ?? ''
    release()
    await solving.ended
    if (!seen.includes('hello.txt')) fail(`it says only: ${seen || 'nothing'}`)
    if (seen.includes(world.folder)) fail(`it names whole paths: ${seen}`)
  },
}
