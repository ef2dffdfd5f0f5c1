// The node is killed at random moments of a run of ten tasks. The next one must bring the run to its end, with every
// task's work in the result once.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findMarked } from '@parley/agents'
import { unwrap } from '@parley/core'
import { seededRandom } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import { connectNode, type NodeConnection } from './client.ts'
import { readNodeFile } from './reach/node-file.ts'
import { bundled } from './testing/bundle.ts'
import { ON_LOOPBACK } from './testing/ground.ts'

const KILLS = process.env.PARLEY_SOAK ? 50 : 8
const SEED = 20261115
/** Longer than a run takes here, so that some kills come after its end. */
const LATEST_KILL = 6_000

const TASKS = Array.from({ length: 10 }, (_, index) => index + 1)

/** Each appends a line: work that is done twice on the same folder shows. Some need others. */
const team = `
version: 1
name: ten
approval: none
agents:
  writer: { command: [sh, -c, 'mkdir -p lines; echo "line of {task}" >> lines/$PARLEY_TASK.txt; sleep 0.05; echo written'] }
plan:
${TASKS.map(n => `  - { id: task-${n}, agent: writer, prompt: Write., needs: [${n > 7 ? `task-${n - 7}` : ''}], paths: ['lines/**'] }`).join('\n')}
`

test(
  `a run of ten tasks survives ${KILLS} kills of its node (seed ${SEED})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-kill-'))
    const project = join(folder, 'project')
    mkdirSync(project)
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@localhost', ...args], {
        cwd: project,
        encoding: 'utf8',
      })
    git('init', '--quiet', '--initial-branch=main')
    writeFileSync(join(project, 'README.md'), 'A project.\n')
    git('add', '-A')
    git('commit', '--quiet', '-m', 'first')
    const { main } = await bundled()
    const env = {
      ...process.env,
      ...ON_LOOPBACK,
      PARLEY_HOME: join(folder, 'home'),
    }
    const connect = async (): Promise<NodeConnection> =>
      unwrap(await connectNode({ env, start: true, maxAttempts: 1, entry: main }))
    const random = seededRandom(SEED)
    let connection = await connect()
    onTestFinished(async () => {
      await connection.client.invoke('node', 'stop', {}, { type: 'mutation' })
      connection.client.close()
      rmSync(folder, { recursive: true, force: true })
    })
    for (let kill = 1; kill <= KILLS; kill++) {
      const { client } = connection
      const started = await client.invoke('solve', 'start', {
        intent: `Write ten lines, ${kill}.`,
        project,
        team: { text: team, file: join(project, 'parley.yaml') },
        approved: true,
      })
      const { run } = started.unwrap()
      await new Promise(resolve => setTimeout(resolve, random() * LATEST_KILL))
      const { pid } = readNodeFile(connection.paths.nodeFile)!
      process.kill(pid, 'SIGKILL')
      client.close()
      connection = await connect()
      let state = ''
      for await (const view of connection.client.subscribe('runs', 'follow', { run }, { buffer: 64 }))
        state = view.state
      expect(state, `kill ${kill} of seed ${SEED}`).toBe('done')
      const { result } = (await connection.client.invoke('runs', 'show', { run })).unwrap()
      const show = (path: string) => git('show', `${result!.branch}:${path}`)
      for (const n of TASKS)
        expect(show(`lines/task-${n}.txt`), `kill ${kill}, task ${n}`).toMatch(/^line of [^\n]*\n$/)
      expect(git('ls-tree', '-r', '--name-only', result!.branch!).trim().split('\n')).toHaveLength(TASKS.length + 1)
      expect(await findMarked(`${run}/`)).toEqual([])
      const verified = (await connection.client.invoke('trail', 'verify', { run })).unwrap()
      expect(verified, `kill ${kill}`).toMatchObject({ sound: true })
      const left = (part: string) => existsSync(join(connection.paths.folder, 'runs', run, part))
      expect([left('work'), left('repositories'), left('open')], `kill ${kill}`).toEqual([false, false, false])
      expect(git('for-each-ref', 'refs/parley').trim()).toBe('')
    }
  },
  KILLS * 60_000,
)
