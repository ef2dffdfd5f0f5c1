// The node is killed at random moments of a run of ten tasks. The next one must bring the run to its end, with every
// task's work in the result once.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findMarked } from '@parley/agents/testing'
import { expect, test } from 'vitest'
import { repository } from './testing/ground.ts'
import { KilledNodes } from './testing/killed.ts'

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
    const nodes = new KilledNodes(SEED)
    const git = repository(nodes.project)
    await nodes.connect()
    for (let kill = 1; kill <= KILLS; kill++) {
      const run = await nodes.start(`Write ten lines, ${kill}.`, team)
      await nodes.kill(LATEST_KILL)
      nodes.client.close()
      await nodes.connect()
      const { client, paths } = nodes.connection
      let state = ''
      for await (const view of client.subscribe('runs', 'follow', { run }, { buffer: 64 })) state = view.state
      expect(state, `kill ${kill} of seed ${SEED}`).toBe('done')
      const { result } = (await client.invoke('runs', 'show', { run })).unwrap()
      const show = (path: string) => git('show', `${result!.branch}:${path}`)
      for (const n of TASKS)
        expect(show(`lines/task-${n}.txt`), `kill ${kill}, task ${n}`).toMatch(/^line of [^\n]*\n$/)
      expect(git('ls-tree', '-r', '--name-only', result!.branch!).trim().split('\n')).toHaveLength(TASKS.length + 1)
      expect(await findMarked(`${run}/`)).toEqual([])
      const verified = (await client.invoke('trail', 'verify', { run })).unwrap()
      expect(verified, `kill ${kill}`).toMatchObject({ sound: true })
      const left = (part: string) => existsSync(join(paths.folder, 'runs', run, part))
      expect([left('work'), left('repositories'), left('open')], `kill ${kill}`).toEqual([false, false, false])
      expect(git('for-each-ref', 'refs/parley').trim()).toBe('')
    }
  },
  KILLS * 60_000,
)
