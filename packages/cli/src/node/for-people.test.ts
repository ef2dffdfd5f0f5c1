// What only people may do is refused to whoever a turn has started, and to nobody else.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { asFailure } from '../failure.ts'
import { fakeNode } from '../testing/fake-node.ts'
import { nodeClient } from './client.ts'
import { forPeople, turnAt } from './for-people.ts'

const MARKER = 'run_1/ws_1/1'
const SOCKET = '/p/default/call.sock'

test('decisions are refused inside a turn, and reading and beginning a run are not', async () => {
  const node = fakeNode({
    '/gates/respond': { run: 'run_1', gates: [] },
    '/gates/list': { gates: [] },
    '/solve/start': { run: 'run_1', warnings: [] },
  })
  const inside = nodeClient(forPeople(node, async () => MARKER))
  const approval = { gate: 'g', decision: 'approve' } as const
  const failure = asFailure(await inside.gates.respond(approval).catch((thrown: unknown) => thrown))
  expect(failure).toMatchObject({ code: 'inside_turn', exitCode: 5, details: { turn: MARKER } })
  expect(failure.next.join()).toContain('parley ws block')
  expect(await inside.gates.list({})).toEqual({ gates: [] })
  expect(await inside.solve.start({ intent: 'x', project: '/p', approved: false })).toMatchObject({ run: 'run_1' })
  expect(node.asked('/gates/respond')).toEqual([])
  await nodeClient(forPeople(node, async () => undefined)).gates.respond(approval)
  expect(node.asked('/gates/respond')).toEqual([approval])
})

test('a marker in the own environment counts, unless it is that of a turn of another node', async () => {
  expect(await turnAt(SOCKET, { PARLEY_TURN: MARKER })).toBe(MARKER)
  expect(await turnAt(SOCKET, { PARLEY_TURN: MARKER, PARLEY_SOCKET: SOCKET })).toBe(MARKER)
  expect(await turnAt(SOCKET, { PARLEY_TURN: MARKER, PARLEY_SOCKET: '/another.sock' })).toBeUndefined()
})

/** Says what `turnAt` finds, in a process that was started by `sh` with these variables. */
async function found(variables: Record<string, string>, how: string): Promise<string> {
  const script = `import { turnAt } from ${JSON.stringify(join(import.meta.dirname, 'for-people.ts'))}
    console.log(await turnAt(${JSON.stringify(SOCKET)}, process.env) ?? 'nobody')`
  const { PATH = '', PARLEY_TURN: _, PARLEY_SOCKET: __, ...rest } = process.env
  const child = spawn('sh', ['-c', how], {
    env: {
      ...rest,
      PATH,
      ...variables,
      NODE: process.execPath,
      FLAGS: process.execArgv.join(' '),
      SCRIPT: script,
    },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  for await (const chunk of child.stdout) out += String(chunk)
  return out.trim()
}

const RUN = '"$NODE" $FLAGS --disable-warning=ExperimentalWarning --input-type=module --eval "$SCRIPT"'

test.runIf(process.platform === 'linux')(
  'an ancestor counts that carries it, however the environment was wiped',
  async () => {
    const turn = { PARLEY_TURN: MARKER, PARLEY_SOCKET: SOCKET }
    const wiped = `env -u PARLEY_TURN -u PARLEY_SOCKET ${RUN}`
    expect(await found(turn, `${wiped}; :`)).toBe(MARKER)
    expect(await found(turn, `env -u PARLEY_TURN sh -c '${wiped.replaceAll("'", '')}; :'; :`)).toBe(MARKER)
    // Its parent is gone, and its own environment is all that is left.
    expect(await found(turn, `(setsid ${RUN} &) ; :`)).toBe(MARKER)
    expect(await found({ ...turn, PARLEY_SOCKET: '/another.sock' }, `${wiped}; :`)).toBe('nobody')
  },
)
