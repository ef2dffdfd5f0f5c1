import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { SystemClock } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { parsePs, parseStat, readProcesses, TURN_MARKER, variableOf } from './process-table.ts'
import { endMarked } from './processes.ts'
import { findMarked } from './testing/marked.ts'

/** A process with a marker that says when it is ready. */
async function marked(marker: string, source = 'sleep 1000 & echo ready; wait') {
  const child = spawn('/bin/sh', ['-c', source], {
    env: { PATH: process.env.PATH, [TURN_MARKER]: marker },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  const exit = once(child, 'exit')
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It is gone, as it should be.
    }
  })
  await once(child.stdout!, 'data')
  return { pid: child.pid!, exit, child }
}

const run = () => `run_${crypto.randomUUID()}`

test('processes are found by the beginning of their marker', async () => {
  const [mine, other] = [run(), run()]
  const first = await marked(`${mine}/ws_1/1`)
  const second = await marked(`${mine}/ws_2/1`)
  await marked(`${other}/ws_1/1`)
  const found = await findMarked(`${mine}/`)
  expect(found.filter(({ pid }) => [first.pid, second.pid].includes(pid))).toHaveLength(2)
  expect(new Set(found.map(({ marker }) => marker))).toEqual(new Set([`${mine}/ws_1/1`, `${mine}/ws_2/1`]))
  expect((await findMarked(`${mine}/ws_2/`)).every(({ marker }) => marker === `${mine}/ws_2/1`)).toBe(true)
})

test('a node that starts again ends everything of a run, and nothing of another', async () => {
  const [mine, other] = [run(), run()]
  await marked(`${mine}/ws_1/1`)
  await marked(`${mine}/ws_2/3`, 'trap "" TERM; echo ready; while :; do sleep 1000; done')
  await marked(`${other}/ws_1/1`)
  const ended = await endMarked(`${mine}/`, { clock: new SystemClock(), grace: 50 })
  expect(ended.found).toBeGreaterThanOrEqual(4)
  expect(ended.left).toEqual([])
  expect(await findMarked(`${mine}/`)).toEqual([])
  expect((await findMarked(`${other}/`)).length).toBe(2)
  expect(await endMarked(`${mine}/`)).toEqual({ found: 0, left: [] })
})

test('children that wiped the marker go with their parents', async () => {
  const mine = run()
  const { child } = await marked(`${mine}/ws_1/1`, 'env -i /bin/sleep 1000 & echo ready; wait')
  const unmarked = async () =>
    (await readProcesses()).filter(({ parent, marker }) => parent === child.pid && marker === undefined)
  // Until `env` has become `sleep`, it has the marker.
  while ((await unmarked()).length === 0) await new Promise(setImmediate)
  const [sleeper] = await unmarked()
  await endMarked(`${mine}/`, { grace: 50 })
  expect((await readProcesses()).filter(({ pid }) => pid === sleeper!.pid)).toEqual([])
})

test('the caller is never found and never ended, even with the marker of its own run', async () => {
  const mine = run()
  const source = `
    import { endMarked } from ${JSON.stringify(new URL('./processes.ts', import.meta.url).href)}
    import { findMarked } from ${JSON.stringify(new URL('./testing/marked.ts', import.meta.url).href)}
    const before = await findMarked(process.argv[1] + '/')
    const ended = await endMarked(process.argv[1] + '/', { grace: 50 })
    console.log(JSON.stringify({ before: before.length, ended }))`
  // The shell carries the marker too, and is the caller's parent.
  const child = spawn(
    '/bin/sh',
    [
      '-c',
      '"$@"; echo survived',
      'sh',
      process.execPath,
      '--conditions=parley-source',
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      source,
      mine,
    ],
    {
      env: { PATH: process.env.PATH, [TURN_MARKER]: `${mine}/ws_1/1` },
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: import.meta.dirname,
    },
  )
  let printed = ''
  child.stdout!.on('data', chunk => {
    printed += chunk
  })
  await once(child, 'close')
  expect(printed.split('\n')).toEqual(['{"before":0,"ended":{"found":0,"left":[]}}', 'survived', ''])
})

test('nobody can end everything by saying nothing', () => {
  expect(() => endMarked('')).toThrow('does not say whose')
})

test('readings that are asked for at once are shared, and none is older than its question', async () => {
  const readings = Array.from({ length: 50 }, () => readProcesses())
  expect(new Set(await Promise.all(readings)).size).toBe(2)
  const mine = run()
  const stale = readProcesses()
  const { pid } = await marked(`${mine}/ws/1`)
  expect((await readProcesses()).some(entry => entry.pid === pid)).toBe(true)
  await stale
})

test('a line of /proc is read whatever the program is called, and the dead are left out', () => {
  expect(parseStat('42 (a) b (c)) S 7 40 39 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9876 0')).toEqual({
    pid: 42,
    parent: 7,
    group: 40,
    session: 39,
    started: 9876,
  })
  expect(parseStat('42 (x) Z 7 40 39 0 -1')).toBeUndefined()
})

test('a marker is a whole variable', () => {
  expect(variableOf('A=1\0PARLEY_TURN=r/w/1\0B=2\0', TURN_MARKER)).toBe('r/w/1')
  expect(variableOf('PARLEY_TURN=r/w/1', TURN_MARKER)).toBe('r/w/1')
  expect(variableOf('NOT_PARLEY_TURN=r/w/1\0', TURN_MARKER)).toBeUndefined()
  expect(variableOf('', TURN_MARKER)).toBeUndefined()
})

test('what ps prints on macOS is read as well', () => {
  const text = [
    '    1     0     1 Ss   /sbin/launchd',
    '  501   400   501 S+   node agent.mjs PATH=/bin PARLEY_TURN=r/w/1 HOME=/nowhere',
    '  502   501   501 Z    (sleep)',
    '  503   501   503 S    sleep 10 X_PARLEY_TURN=no',
    'nonsense',
  ].join('\n')
  expect(parsePs(text)).toEqual([
    { pid: 1, parent: 0, group: 1 },
    { pid: 501, parent: 400, group: 501, marker: 'r/w/1' },
    { pid: 503, parent: 501, group: 503 },
  ])
})
