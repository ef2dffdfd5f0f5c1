// `pr` with a real repository, a remote beside it, and a program in the place of gh.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WorkView } from '../../node/views.ts'
import { pullRequest } from '../../render/pull-request.ts'
import { fakeNode } from '../../testing/fake-node.ts'
import { tempFolder } from '../../testing/folder.ts'
import { parley } from '../../testing/parley.ts'
import { NO_USAGE, runView, stepView } from '../../testing/views.ts'

const BRANCH = 'parley/tidy'
const review = stepView({ kind: 'review', agent: 'critic#1', outcome: 'accepted' })
const work: WorkView = {
  run: 'run_01m7aaaaaaaaaaaaaaaaaaaaaa',
  title: 'Tidy the house\nAll of it.',
  state: 'done',
  final: true,
  base: 'a'.repeat(40),
  commit: 'b'.repeat(40),
  files: [{ path: 'x', kind: 'added', added: 1, removed: 0 }],
  more_files: 0,
  added: 1,
  removed: 0,
  parts: [
    {
      task: 'scan',
      title: 'Scan | @all',
      agent: 'writer',
      state: 'done',
      said: 'Fixes #12, @mira\n```\n</details>',
      judgements: [review],
      usage: { ...NO_USAGE, turns: 1, usd: 0.1 },
    },
  ],
  usage: { ...NO_USAGE, turns: 2, usd: 0.12 },
}

test('its text has intent, tasks, judgements and cost; what agents said is quoted', () => {
  const { title, body } = pullRequest(work)
  expect(title).toBe('Tidy the house')
  expect(body).toContain('| Scan \\| @\u200ball (done) | writer | review by critic#\u200b1 accepted | $0.10 |\n')
  expect(body).toContain('````text\nFixes #12, @mira\n```\n</details>\n````\n')
  expect(body).toContain('1 file, +1 -0; $0.12.\n')
  expect(pullRequest({ ...work, title: 'x'.repeat(500) }).title.length).toBeLessThan(120)
})

function place() {
  const folder = tempFolder()
  const [project, remote, bin] = ['project', 'remote', 'bin'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x', ...args], { cwd: project, encoding: 'utf8' }).trim()
  mkdirSync(project)
  mkdirSync(bin)
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  git('init', '--quiet', '--initial-branch=main')
  git('commit', '--quiet', '--allow-empty', '-m', 'x')
  git('branch', BRANCH)
  git('remote', 'add', 'origin', remote)
  writeFileSync(join(project, '.git/hooks/pre-push'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  const node = fakeNode({
    '/runs/show': runView({ state: 'done', project, result: { commit: 'b', base: 'a', branch: BRANCH, files: ['x'] } }),
    '/results/show': work,
  })
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder }
  const pr = (...args: string[]) => parley(['pr', ...args], { node, env, cwd: project })
  const pushed = () => execFileSync('git', ['branch', '--list'], { cwd: remote, encoding: 'utf8' }).includes(BRANCH)
  /** Keeps what it is called with; knows of a pull request when it has made one. */
  const gh = () => {
    const file = join(bin, 'gh')
    const made = join(folder, 'made')
    writeFileSync(
      file,
      `#!/bin/sh\ncase "$1 $2" in\n"pr view") [ -f ${made} ] && echo https://host/pull/1 || exit 1;;\n"pr create") echo "$@" > ${made}; cat >> ${made}; echo https://host/pull/1;;\nesac\n`,
    )
    chmodSync(file, 0o755)
    return () => (existsSync(made) ? readFileSync(made, 'utf8') : undefined)
  }
  return { pr, pushed, gh }
}

test('without gh, or with a branch that is not on the remote, the text is printed and nothing is pushed', async () => {
  const { pr, pushed, gh } = place()
  const without = await pr()
  expect([without.code, pushed()]).toEqual([0, false])
  expect(without.out).toMatch(/^Tidy the house\n\n/)
  const made = gh()
  const not = await pr()
  expect([not.code, pushed(), made()]).toEqual([0, false, undefined])
  expect(not.err).toContain('parley pr run_aaaaaa --push')
  expect((await pr('--print', '--push')).err).toBe('')
  expect(pushed()).toBe(false)
})

test('asked to, it pushes without hooks and opens the pull request, once', async () => {
  const { pr, pushed, gh } = place()
  const made = gh()
  const done = await pr('--push', '--draft', '--base', 'main', '--json')
  expect(JSON.parse(done.out)).toMatchObject({ branch: BRANCH, url: 'https://host/pull/1', pushed: true })
  expect(pushed()).toBe(true)
  expect(made()).toContain(`pr create --head ${BRANCH} --title Tidy the house --body-file - --base main --draft\n`)
  expect(made()).toContain('| task | by |')
  const before = made()
  expect((await pr()).out).toBe('https://host/pull/1\n')
  expect(made()).toBe(before)
})

test('a run without a branch has no pull request', async () => {
  const node = fakeNode({ '/runs/show': runView({ state: 'working' }) })
  expect((await parley(['pr'], { node })).code).toBe(5)
})
