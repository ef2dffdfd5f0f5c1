import { ParleyError } from '@parley/core'
import { type AdapterUnderTest, agentAdapterCompliance, type Part } from './compliance.ts'
import { functionAdapter } from './function.ts'
import { commandAdapter } from './testing/command.ts'
import { findMarked } from './testing/marked.ts'
import { Workshop } from './testing/workshop.ts'

const functions: { readonly [P in Part]: Parameters<typeof functionAdapter>[1] } = {
  answers: async (input, emit) => {
    for (const text of ['one', 'two', 'three']) emit({ type: 'text', text })
    emit({ type: 'usage', usage: { tokensIn: 10, tokensOut: 5 } })
    return `done ${input.prompt}`
  },
  fails: (_, emit) => {
    emit({ type: 'usage', usage: { tokensIn: 10, tokensOut: 5 } })
    throw new ParleyError('tool_missing', 'there is no such tool')
  },
  blocks: () => ({ outcome: 'blocked', reason: 'needs a key', usage: {} }),
  hangs: (input, emit) =>
    new Promise(resolve => {
      emit({ type: 'text', text: 'started' })
      input.signal.addEventListener('abort', () => resolve(undefined), { once: true })
    }),
}

agentAdapterCompliance('a function', part => {
  let running = 0
  const adapter = functionAdapter('tester', async (input, emit) => {
    running += 1
    try {
      return await functions[part](input, emit)
    } finally {
      running -= 1
    }
  })
  return { adapter, running: () => running }
})

const say = 'const say = object => console.log(JSON.stringify(object));'
const scripts: { readonly [P in Part]: string } = {
  answers: `
    let prompt = ''
    for await (const chunk of process.stdin) prompt += chunk
    for (const text of ['one', 'two', 'three']) say({ type: 'text', text })
    say({ type: 'usage', tokens_in: 10, tokens_out: 5 })
    say({ type: 'result', text: 'done ' + prompt.trim() })`,
  fails: `
    say({ type: 'usage', tokens_in: 10, tokens_out: 5 })
    console.error('no such tool')
    process.exitCode = 3`,
  blocks: `say({ type: 'blocked', reason: 'needs a key' })`,
  hangs: `
    const { spawn } = await import('node:child_process')
    spawn('sleep', ['1000'])
    spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' }).unref()
    say({ type: 'text', text: 'started' })
    setInterval(() => {}, 1000)`,
}

function command(part: Part): AdapterUnderTest {
  const shop = new Workshop()
  const script = shop.node('agent.mjs', say + scripts[part])
  const adapter = commandAdapter({ command: [script], output: 'json-lines' })
  return {
    adapter,
    folder: shop.work,
    running: async run => (await findMarked(`${run}/`)).length,
  }
}

agentAdapterCompliance('a command', command)
