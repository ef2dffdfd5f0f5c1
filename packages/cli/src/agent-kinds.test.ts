// A new kind of agent is one file (testing/diary-kind.ts) and one entry in the node's table: everything else finds it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectClient, connectUnix } from '@parley/call'
import { type AgentKind, unwrap } from '@parley/core'
import { agentDirectory, loadConfig, Node, type NodeOperations, readTeam, startEnvironment } from '@parley/node'
import { beforeEach, expect, test, vi } from 'vitest'
import { agents as examineAgents } from './doctor/agents.ts'
import { systemProbes } from './doctor/probes.ts'
import { planDetails } from './render/plan.ts'
import { tempFolder } from './testing/folder.ts'
import { runView, taskView } from './testing/views.ts'

vi.mock('../../node/src/agents/kinds.ts', async original => {
  const [table, { diaryKind }] = await Promise.all([
    original<{ agentKinds: AgentKind[] }>(),
    import('./testing/diary-kind.ts'),
  ])
  table.agentKinds.push(diaryKind)
  return table
})

let home: string
let diary: string
beforeEach(() => {
  home = tempFolder()
  diary = join(home, 'diary.md')
})

const file = (agent: string) => `version: 1\nname: t\napproval: none\nagents:\n  me: ${agent}\n`

test('a team file has its fields, with its own rules', () => {
  expect(unwrap(readTeam(file(`{ diary: ${diary}, timeout: 1m }`))).agents.me).toEqual({
    diary,
    timeoutMs: 60_000,
    slots: 4,
  })
  for (const [agent, says] of [
    ['{ diary: a.txt }', "'diary': a diary is Markdown."],
    ['{ diary: 7 }', "'diary' must be text"],
    ['{ diary: a.md, command: [sh] }', "Leave out either 'diary' or 'command'."],
    ['{ slots: 1 }', "'peer' or 'diary'"],
  ])
    expect(readTeam(file(agent!))).toMatchObject({ error: { message: expect.stringContaining(says!) } })
})

test('the plan shows what it runs, and a start sends what it is given', () => {
  const team = unwrap(readTeam(file(`{ diary: ${diary} }`)))
  const drawing = { width: 100, now: 0 as never, paint: (_: unknown, text: string) => text }
  const shown = planDetails(runView({ tasks: [taskView('solve', { agent: 'me' })] }), team, drawing).join('\n')
  expect(shown).toMatch(/runs +reads .*diary\.md\n +mood +quiet\n/)
  expect(shown).toContain('one page')
  expect(startEnvironment({ PATH: '/bin', DIARY_KEY: 'k', OTHER: 'x' }, { team })).toEqual({
    PATH: '/bin',
    DIARY_KEY: 'k',
  })
})

test('the details of a plan inside a task say what its tasks are told, and who reviews them', () => {
  const plan =
    "plan: [{ id: team, prompt: 'The whole', plan: [{ id: part, agent: me, prompt: 'Only {intent}', review: { by: me, prompt: Good? } }] }]"
  const team = unwrap(readTeam(`${file(`{ diary: ${diary} }`)}${plan}\n`))
  const tasks = [taskView('team', { agent: 'team' }), taskView('part', { agent: 'me', parent: 'team' })]
  const drawing = { width: 100, now: 0 as never, paint: (_: unknown, text: string) => text }
  const shown = planDetails(runView({ tasks, intent: 'this' }), team, drawing).join('\n')
  expect(shown).toMatch(/prompt +The whole\n.*prompt +Only this\n.*review +by me \(reads .*diary.md\): Good\?/s)
})

test('configuration and doctor know it: missing, without its key, with it', async () => {
  const folder = join(home, '.parley', 'default')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'config.yaml'), `agents: { me: { diary: ${diary} } }\n`)
  const examined = async (env: Record<string, string>) => {
    const config = unwrap(loadConfig({ env: { HOME: home, ...env }, home }))
    const list = await agentDirectory({ config, env: { PATH: '/nowhere' } }).list()
    const findings = await examineAgents(list, systemProbes, { env, home })
    return findings.filter(({ check }) => check === 'agent me')
  }
  expect(await examined({})).toMatchObject([{ state: 'problem', remedy: 'Look under the bed.' }])
  writeFileSync(diary, 'Dear diary.')
  expect(await examined({})).toMatchObject([{ state: 'warning', remedy: 'Find the key.' }])
  expect(await examined({ DIARY_KEY: 'k' })).toMatchObject([{ state: 'ok' }])
})

test('a node refuses a run whose diary is lost, and books what its turns cost', async () => {
  const env = { HOME: home, PATH: process.env.PATH, ALPI_NETWORK_HOST: '127.0.0.1', ALPI_ALP_TCP_PORT: '0' }
  const config = unwrap(loadConfig({ env, home }))
  const quiet = () => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet, close: quiet }
  const node = unwrap(await Node.start({ config, env, log, startedBy: 'up' }))
  const client = connectClient<NodeOperations>({ dial: () => connectUnix(config.paths.socket), maxAttempts: 1 })
  try {
    const project = join(home, 'project')
    mkdirSync(project)
    const team = { text: file(`{ diary: ${diary} }`), file: join(home, 'parley.yaml') }
    const start = { intent: 'What was it like?', project, team, approved: true }
    await expect(client.call('solve', 'start', start)).rejects.toMatchObject({
      code: 'diary_lost',
      message: expect.stringMatching(/nobody finds the diary .*diary\.md \(agent me\)\. Look under the bed\./),
    })
    writeFileSync(diary, 'Dear diary.')
    const { run } = await client.call('solve', 'start', start)
    const view = await vi.waitUntil(
      async () => {
        const now = await client.call('runs', 'show', { run })
        return now.state === 'done' || now.state === 'failed' ? now : undefined
      },
      { timeout: 30_000 },
    )
    expect(view.tasks[0]?.steps[0]).toMatchObject({ outcome: 'complete', text: 'Dear diary.' })
    expect(await client.call('budget', 'today', {})).toMatchObject({ used_usd: 0.5 })
  } finally {
    client.close()
    await node.stop('the test is over')
  }
})
