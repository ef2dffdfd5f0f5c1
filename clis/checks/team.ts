// An agent among others: it uses the verbs of its workspace, asks and goes on, is reviewed, and has a budget.
import { clisLimits } from '../limits.ts'
import type { Program } from '../programs.ts'
import type { Script, Turn } from '../server/model-server.ts'
import { agentLine, type Check, done, equal, fail, inTurn, team } from './check.ts'

const QUESTION = 'Which colour?'

export const verbs: Check = {
  name: 'verbs',
  title: 'its workspace, by `parley mcp`',
  async run({ program, world }) {
    world.team(team(program))
    world.server.script = turn => {
      if (turn.results.length === 0) return { calls: [program.write('hello.txt', 'hello')] }
      if (turn.results.length === 1) return { calls: [program.parley('status', {})] }
      if (turn.results.length === 2) return { calls: [program.parley('checkpoint', { intent: 'The file is written' })] }
      return { text: turn.results.slice(1).join('\n') }
    }
    const view = await world.solve('Write hello into hello.txt.')
    done(view)
    const results = world.server.turns.at(-1)?.results ?? []
    if (!results[1]!.includes('workspace')) fail(`status says: ${results[1]!.slice(0, 200)}`)
    if (!/ckpt|checkpoint/.test(results[2]!)) fail(`checkpoint says: ${results[2]!.slice(0, 200)}`)
  },
}

export const resume: Check = {
  name: 'resume',
  title: 'a question, and the session resumed',
  async run({ program, world }) {
    world.team(team(program))
    const begins = (turn: Turn) => turn.messages.filter(({ role }) => role === 'assistant').length === 0
    world.server.script = turn => {
      if (turn.prompt.includes('Blue.')) return { text: 'It is blue.' }
      return begins(turn) ? { calls: [program.parley('block', { reason: QUESTION })] } : { text: 'I wait.' }
    }
    const solving = world.start('solve', 'Paint it.', '--yes', '--detach')
    await solving.ended
    await world.until('question', view => view.gates.length > 0 || view.state !== 'working')
    const { code, err } = await world.parley('reply', 'last', 'Blue.')
    if (code !== 0) fail(`nothing was asked: ${err.trim()}`)
    const view = await world.until('end', ({ state }) => state === 'done' || state === 'failed')
    done(view)
    const turn = world.server.turns.findLast(({ prompt }) => prompt.includes('Blue.'))
    if (!turn) fail('the reply did not reach the model')
    if (begins(turn)) fail('the second turn began afresh')
  },
}

/** `judge`: how the reviewer says REVISE, or ACCEPT once the work is `polite`. */
function reviewed(name: string, title: string, judge: (program: Program, polite: boolean) => Script): Check {
  const run: Check['run'] = async ({ program, world }) => {
    const rest = `${agentLine('judge', program)}plan:
  - { id: work, agent: ${program.name}, prompt: '{intent}', review: { by: judge, prompt: Is it polite? } }
`
    world.team(team(program, { rest }))
    const text = (turn: Turn) => (turn.prompt.includes('Say please.') ? 'hello, please' : 'hello')
    world.server.script = turn => {
      if (!turn.prompt.includes('Is it polite?'))
        return inTurn({ calls: [program.write('hello.txt', text(turn))] }, { text: 'I wrote hello.txt.' })(turn)
      return judge(program, turn.prompt.includes('hello, please'))(turn)
    }
    const view = await world.solve('Write a greeting into hello.txt.')
    done(view)
    equal('hello.txt', world.result(view, 'hello.txt')?.trim(), 'hello, please')
    equal('attempts', view.tasks[0]?.attempt, 2)
  }
  return { name, title, run }
}

export const verdict = reviewed('verdict', 'a review by the tool `verdict`: REVISE, then ACCEPT', (program, polite) => {
  const said = polite ? { verdict: 'accept' } : { verdict: 'revise', findings: ['Say please.'] }
  return inTurn({ calls: [program.parley('verdict', said)] }, { text: 'I have judged it.' })
})

export const review = reviewed(
  'review',
  'a review by its last line: REVISE, then ACCEPT',
  (_program, polite) => () => ({ text: polite ? 'Good.\n\nACCEPT' : 'Hm.\n\nREVISE: Say please.' }),
)

export const budget: Check = {
  name: 'budget',
  title: 'a budget ends a turn, and the work is kept',
  async run({ program, world }) {
    for (const limit of ['tokens: 3500', ...(program.money ? ['cost: 0.006'] : [])]) {
      const rest = `limits: { attempts: 1 }
plan:
  - { id: work, agent: ${program.name}, prompt: '{intent}', budget: { ${limit} } }
`
      world.team(team(program, { rest }))
      const before = world.server.turns.length
      world.server.script = async ({ results }) => {
        await new Promise(resolve => setTimeout(resolve, clisLimits.answerMs))
        return { calls: [program.write(`part-${results.length}.txt`, 'a part')] }
      }
      const view = await world.solve(`Write for ever, with ${limit}.`)
      equal('the run', view.state, 'failed')
      const asked = world.server.turns.length - before
      if (asked > 10) fail(`with ${limit} the model was asked ${asked} times`)
      if (view.usage.turns !== 1 || !view.usage.tokens_in) fail(`with ${limit} the turn and its tokens are not told`)
      const { code, err } = await world.parley('salvage', 'work', '--yes')
      if (code !== 0) fail(`with ${limit} the work is not kept: ${err.trim()}`)
    }
  },
}
