// The example with a reviewer, with scripted programs in the place of `claude` and `codex`: they read their prompt and
// print JSON lines as the real ones do.
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture, put } from '../testing/fixture.ts'

const example = join(import.meta.dirname, '../../../../examples/review-team')

/** First it gets the sum wrong, which the tests find; then it forgets to say what it does, which the reviewer finds. */
const claude = `
import { readFileSync, writeFileSync } from 'node:fs'
const prompt = readFileSync(0, 'utf8')
const tested = prompt.includes('did not succeed')
const reviewed = prompt.includes('say what it does')
writeFileSync('add.mjs', (reviewed ? '// The sum of two numbers.\\n' : '') + 'export const add = (a, b) => a ' + (tested || reviewed ? '+' : '-') + ' b\\n')
const print = line => console.log(JSON.stringify(line))
print({ type: 'system', subtype: 'init', session_id: 's' })
print({ type: 'assistant', message: { content: [{ type: 'text', text: 'I changed add.mjs.' }] } })
print({ type: 'result', subtype: 'success', is_error: false, result: 'I changed add.mjs.', total_cost_usd: 0.01, usage: { input_tokens: 100, output_tokens: 10 } })
`

const codex = `
import { readFileSync } from 'node:fs'
readFileSync(0, 'utf8')
const good = readFileSync('add.mjs', 'utf8').startsWith('//')
const print = line => console.log(JSON.stringify(line))
print({ type: 'thread.started', thread_id: 't' })
print({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text: good ? 'Right.\\n\\nACCEPT' : 'add.mjs:1 lacks a comment.\\n\\nREVISE: say what it does' } })
print({ type: 'turn.completed', usage: { input_tokens: 50, cached_input_tokens: 0, output_tokens: 5 } })
`

test('work goes back until the tests pass and the reviewer is content', async () => {
  const fixture = await Fixture.open()
  const bin = join(fixture.folder, 'bin')
  for (const [name, script] of Object.entries({ claude, codex })) {
    put(bin, `${name}.mjs`, script)
    put(bin, name, `#!/bin/sh\nexec "${process.execPath}" "${join(bin, name)}.mjs"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const { PATH } = process.env
  process.env.PATH = `${bin}:${PATH}`
  onTestFinished(() => {
    process.env.PATH = PATH
  })
  fixture.write('package.json', JSON.stringify({ scripts: { test: 'node test.mjs' } }))
  fixture.write(
    'test.mjs',
    "import { add } from './add.mjs'\nif (add(1, 2) !== 3) throw new Error('1 and 2 are not 3')\n",
  )
  fixture.commit('a test')
  const team = unwrap(readTeam(readFileSync(join(example, 'parley.yaml'), 'utf8'), { base: example }))
  const request = { intent: 'Add two numbers.', principal: alice, origin: 'test' }
  const setup = { project: fixture.project, team, approved: false }
  const { run } = unwrap(await fixture.coordinator.start(request, setup))
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.respond(run, { decision: 'approve' })
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'done', tasks: [{ attempt: 3, attempts: 3 }] })
  expect(fixture.result(view, 'add.mjs')).toBe('// The sum of two numbers.\nexport const add = (a, b) => a + b\n')
  // Three turns of the writer, three of the tests, two of the reviewer.
  expect(view.usage).toMatchObject({ turns: 8, tokens_in: 400, tokens_out: 40 })
  expect(view.usage.usd).toBeCloseTo(0.03)
})
