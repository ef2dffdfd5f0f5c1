// The examples for coding agents, each run to its result with scripted programs in the place of `claude` and `codex`:
// they read their prompt and print JSON lines as the real ones do.
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture, put } from '../testing/fixture.ts'
import type { RunView } from '../view/view.ts'

const examples = join(import.meta.dirname, '../../../../examples')

let fixture: Fixture
beforeEach(async () => {
  fixture = await Fixture.open()
})

/** `say` is a function body of the prompt that answers with what the agent says, and changes files on the way. */
function install(agents: Readonly<Record<'claude' | 'codex', string>>): void {
  const bin = join(fixture.folder, 'bin')
  for (const [name, say] of Object.entries(agents)) {
    const script = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
const prompt = readFileSync(0, 'utf8')
let usd = 0.01
const text = (() => { ${say} })()
const print = line => console.log(JSON.stringify(line))
if ('${name}' === 'claude') {
  print({ type: 'system', subtype: 'init', session_id: 's' })
  print({ type: 'assistant', message: { content: [{ type: 'text', text }] } })
  print({ type: 'result', subtype: 'success', is_error: false, result: text, total_cost_usd: usd, usage: { input_tokens: 100, output_tokens: 10 } })
} else {
  print({ type: 'thread.started', thread_id: 't' })
  print({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } })
  print({ type: 'turn.completed', usage: { input_tokens: 50, cached_input_tokens: 0, output_tokens: 5 } })
}
`
    put(bin, `${name}.mjs`, script)
    put(bin, name, `#!/bin/sh\nexec "${process.execPath}" "${join(bin, name)}.mjs"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const { PATH } = process.env
  process.env.PATH = `${bin}:${PATH}`
  onTestFinished(() => {
    process.env.PATH = PATH
  })
}

/** A package without dependencies: nothing of it needs a registry. */
function npmProject(test: string): void {
  const manifest = { name: 'sums', version: '1.0.0', scripts: { test } }
  fixture.write('package.json', JSON.stringify(manifest))
  fixture.write(
    'package-lock.json',
    JSON.stringify({ ...manifest, scripts: undefined, lockfileVersion: 3, packages: {} }),
  )
  fixture.write('.npmrc', 'offline=true\naudit=false\nfund=false\nupdate-notifier=false\n')
  fixture.write('.gitignore', 'node_modules/\n')
}

async function run(name: string, intent?: string): Promise<RunView> {
  const base = join(examples, name)
  const team = unwrap(readTeam(readFileSync(join(base, 'parley.yaml'), 'utf8'), { base }))
  const request = { intent: intent ?? team.description, principal: alice, origin: 'test' }
  const setup = { project: fixture.project, team, approved: true }
  return fixture.over(unwrap(await fixture.coordinator.start(request, setup)).run)
}

test('fix-issue: work goes back until the tests pass and the reviewer is content', async () => {
  install({
    // First a test that passes already; then a wrong sum, which the tests find; then one that says nothing of itself.
    claude: `
      if (prompt.includes('Do not fix this yet')) {
        const again = prompt.includes('failed (exit code')
        writeFileSync('sum.test.mjs', again ? "import { add } from './add.mjs'\\nif (add(1, 2) !== 3) throw new Error('no sum')\\n" : '')
        writeFileSync('add.mjs', 'not allowed')
        return 'A test.'
      }
      const reviewed = prompt.includes('say what it does')
      const good = reviewed || prompt.includes('no sum')
      writeFileSync('add.mjs', (reviewed ? '// The sum.\\n' : '') + 'export const add = (a, b) => a ' + (good ? '+' : '-') + ' b\\n')
      return 'I changed add.mjs.'`,
    codex:
      "return readFileSync('add.mjs', 'utf8').startsWith('//') ? 'Right.\\n\\nACCEPT' : 'REVISE: say what it does'",
  })
  npmProject('node sum.test.mjs')
  fixture.write('add.mjs', 'export const add = (a, b) => a - b\n')
  fixture.write('sum.test.mjs', '')
  fixture.commit('a package')
  const view = await run('fix-issue', 'Adding 1 and 2 gives -1.')
  expect(view).toMatchObject({
    state: 'done',
    tasks: [
      { attempt: 2, refused: ['add.mjs'] },
      { attempt: 3, attempts: 3 },
    ],
  })
  expect(fixture.result(view, 'add.mjs')).toBe('// The sum.\nexport const add = (a, b) => a + b\n')
  expect(fixture.result(view, 'sum.test.mjs')).toContain('no sum')
})

test('review-branch: the branch has nothing but the joined findings of two reviewers', async () => {
  install({
    claude: `
      if (prompt.includes('Write REVIEW.md')) writeFileSync('REVIEW.md', 'Not ready: 1 defect\\n' + /codex says \\S+ is certain/.exec(prompt)[0] + '\\n')
      else writeFileSync('add.mjs', 'not allowed')
      return 'claude says add.mjs:1'`,
    codex: "return 'codex says add.mjs:1 is certain'",
  })
  npmProject('true')
  fixture.commit('a package')
  const view = await run('review-branch')
  expect(view).toMatchObject({ state: 'done', result: { files: ['REVIEW.md'] } })
  expect(fixture.result(view, 'REVIEW.md')).toBe('Not ready: 1 defect\ncodex says add.mjs:1 is certain\n')
})

test('upgrade-dependencies: what the ranges allow needs no model, and an agent does the rest', async () => {
  install({
    claude: "writeFileSync('use.mjs', 'new\\n'); return '| sums | 1 | 2 |'",
    codex: "return 'ACCEPT'",
  })
  npmProject('true')
  fixture.write('package-lock.json', '{"lockfileVersion":3,"packages":{"":{}}}')
  fixture.commit('a package with a lock file that npm writes anew')
  const view = await run('upgrade-dependencies')
  expect(view).toMatchObject({ state: 'done', result: { files: ['package-lock.json', 'use.mjs'] } })
})

test('release-notes: the writer is told the commits since the last tag, and its notes are checked', async () => {
  install({
    claude: `
      const [line] = /[0-9a-f]{7,} Say hello/.exec(prompt) ?? ['nothing']
      if (prompt.includes('Before the tag')) throw new Error('too much')
      writeFileSync('RELEASE-NOTES.md', line + '\\n')
      return 'Written.'`,
    codex: "return readFileSync('RELEASE-NOTES.md', 'utf8').includes('Say hello') ? 'ACCEPT' : 'REJECT: nothing in it'",
  })
  fixture.write('old', '')
  fixture.commit('Before the tag')
  fixture.git('tag', 'v1')
  fixture.write('new', '')
  fixture.commit('Say hello')
  const view = await run('release-notes')
  expect(view).toMatchObject({ state: 'done', result: { files: ['RELEASE-NOTES.md'] } })
  expect(fixture.result(view, 'RELEASE-NOTES.md')).toMatch(/^[0-9a-f]{7,} Say hello\n$/)
})

test('nightly-audit: it needs nobody, writes one file, and stops where its budget ends', async () => {
  const audit = (usd: number) => `usd = ${usd}; writeFileSync('AUDIT.md', 'Five findings\\n'); return 'done'`
  install({ claude: audit(0.5), codex: '' })
  expect(await run('nightly-audit')).toMatchObject({ state: 'done', result: { files: ['AUDIT.md'] } })
  install({ claude: audit(2), codex: '' })
  const dear = await run('nightly-audit')
  expect(dear.state).toBe('failed')
  expect(dear.usage.usd).toBeLessThanOrEqual(6)
  expect(dear.tasks.find(({ id }) => id === 'report')).toMatchObject({ state: 'cancelled', attempt: 0 })
})
