// Programs that misbehave, as real processes: each ends the way the guide says, and leaves nothing behind.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ManualClock, ParleyError, type TurnEvent, type TurnResult } from '@parley/core'
import { beforeEach, expect, test } from 'vitest'
import { parseStat, tryRead } from '../process-table.ts'
import { findMarked } from '../testing/marked.ts'
import { isText, Workshop } from '../testing/workshop.ts'

let shop: Workshop
beforeEach(() => {
  shop = new Workshop()
})

function errorOf(result: TurnResult): ParleyError {
  if (result.outcome !== 'failed') throw new Error(`the turn is ${result.outcome}`)
  return result.error
}

/**
 * Lets the time of a manual clock pass until something is done: between looks at the process table, an adapter waits.
 */
async function passing<T>(clock: ManualClock, done: Promise<T>): Promise<T> {
  let over = false
  const end = () => {
    over = true
  }
  done.then(end, end)
  while (!over) {
    clock.advance(1)
    await new Promise(resolve => setImmediate(resolve))
  }
  return done
}

function notices(events: readonly TurnEvent[]): string[] {
  return events.flatMap(event => (event.type === 'notice' ? [event.text] : []))
}

test('a program that hangs is ended at its timeout, by the injected clock', async () => {
  const clock = new ManualClock()
  const script = shop.shell('hang', 'sleep 1000 &\necho ready\nwait')
  const turn = shop.begin({ command: [script], timeoutMs: 600_000 }, {}, { clock })
  await turn.until(isText('ready'))
  clock.advance(10 * 60_000 - 1)
  expect((await findMarked(`${shop.run}/`)).length).toBe(2)
  clock.advance(1)
  const { result } = await passing(clock, turn.done)
  expect(errorOf(result)).toMatchObject({ code: 'timeout', retryable: true })
  expect(errorOf(result).message).toContain('not done after 10 min and')
  await shop.expectNothingLeft()
})

test('a program that ignores SIGTERM is killed after the grace and not before', async () => {
  const clock = new ManualClock()
  const script = shop.node(
    'deaf.mjs',
    `process.on('SIGTERM', () => console.log('no')); console.log('ready'); setInterval(() => {}, 1000)`,
  )
  const turn = shop.begin({ command: [script] }, {}, { clock, grace: 5000 })
  await turn.until(isText('ready'))
  turn.abort(new ParleyError('operator', 'enough'))
  await turn.until(isText('no'))
  clock.advance(4999)
  expect((await findMarked(`${shop.run}/`)).length).toBe(1)
  const { result } = await passing(clock, turn.done)
  expect(errorOf(result)).toMatchObject({ code: 'aborted', details: { reason: 'operator' } })
  // One SIGTERM, not several: a second one makes some programs drop everything.
  expect(turn.events.filter(isText('no')).length).toBe(1)
  await shop.expectNothingLeft()
})

test('a program that is told to end may finish cleanly, and its last report counts', async () => {
  const script = shop.node(
    'tidy.mjs',
    `process.on('SIGTERM', () => { console.log('{"type":"usage","tokens_in":7}'); process.exit(0) })
     console.log('ready'); setInterval(() => {}, 1000)`,
  )
  const turn = shop.begin({ command: [script], output: 'json-lines' }, {}, { grace: 60_000 })
  await turn.until(isText('ready'))
  turn.abort()
  expect((await turn.done).result).toMatchObject({
    outcome: 'failed',
    error: { code: 'aborted' },
    usage: { tokensIn: 7 },
  })
})

test.each(['stdout', 'stderr'])('a program that floods %s is ended at the limit', async stream => {
  const script = shop.node(
    'flood.mjs',
    `const more = () => { while (process.${stream}.write('x'.repeat(1023) + '\\n')); process.${stream}.once('drain', more) }; more()`,
  )
  const { result, events } = await shop.take({ command: [script], max_output: '1MiB' })
  expect(errorOf(result).code).toBe('output_limit')
  expect(result.meter.outputBytes).toBeGreaterThan(2 ** 20)
  expect(result.meter.outputBytes).toBeLessThan(2 ** 21)
  // What watchers get is bounded as well.
  expect(events.length).toBeLessThan(2000)
})

test('a flood that ignores SIGTERM and closed pipes is killed', async () => {
  const script = shop.shell(
    'flood',
    `trap '' TERM PIPE\nwhile :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done 2>/dev/null`,
  )
  const { result } = await shop.take({ command: [script], max_output: '64KiB' })
  expect(errorOf(result).code).toBe('output_limit')
})

test('a daemon with a session of its own is ended on abort', async () => {
  const script = shop.shell('daemon', 'setsid sh -c "setsid sleep 1000 & sleep 1000" &\necho ready\nsleep 1000')
  const turn = shop.begin({ command: [script] })
  await turn.until(isText('ready'))
  turn.abort()
  expect(errorOf((await turn.done).result).code).toBe('aborted')
  await shop.expectNothingLeft()
})

test('what a turn leaves running when it ends by itself is ended, and a notice says how many', async () => {
  // The first holds the pipe open, the second has left group and session, the third ignores the signal.
  const script = shop.shell(
    'leave',
    `sleep 1000 &
     setsid sleep 1000 </dev/null >/dev/null 2>&1 &
     sh -c 'trap "" TERM; echo deaf; while :; do sleep 1; done' &
     while [ ! -e gone ]; do sleep 0.01; done; echo bye`,
  )
  const turn = shop.begin({ command: [script] })
  await turn.until(isText('deaf'))
  while ((await findMarked(`${shop.run}/`)).length < 4) await new Promise(resolve => setImmediate(resolve))
  writeFileSync(join(shop.work, 'gone'), '')
  const { result, events } = await turn.done
  expect(result).toMatchObject({ outcome: 'complete', text: 'deaf\nbye' })
  const [notice] = notices(events).filter(text => text.includes('running'))
  // The deaf shell has a sleep of its own most of the time, and may have begun another one.
  expect(Number(/left (\d+) processes running/.exec(notice!)?.[1])).toBeGreaterThanOrEqual(3)
  await shop.expectNothingLeft()
})

test('a child that wiped its environment is found by its group, session or parent', async () => {
  const file = join(shop.folder, 'pids')
  // The first stays in the group, the second is the leader of a group in the same session, the third has its own
  // session.
  const script = shop.node(
    'wipe.mjs',
    `import { spawn } from 'node:child_process'
     import { writeFileSync } from 'node:fs'
     const options = { env: {}, stdio: 'ignore' }
     const children = [
       spawn('/bin/sleep', ['1000'], options),
       spawn('/bin/sh', ['-c', 'set -m; /bin/sleep 1000 & wait'], options),
       spawn('/bin/sleep', ['1000'], { ...options, detached: true }),
     ]
     writeFileSync(${JSON.stringify(file)}, children.map(child => child.pid).join(' '))
     console.log('ready'); setInterval(() => {}, 1000)`,
  )
  const turn = shop.begin({ command: [script] })
  await turn.until(isText('ready'))
  const pids = shop.read('pids').split(' ').map(Number)
  expect(pids.map(isAlive)).toEqual([true, true, true])
  turn.abort()
  await turn.done
  expect(pids.map(isAlive)).toEqual([false, false, false])
})

test('orphans that wiped their environment are found by the group and the session of their turn', async () => {
  // The first is in the program's group; the shell's child is the leader of a group in the same session.
  const script = shop.node(
    'orphan.mjs',
    `import { spawn } from 'node:child_process'
     const first = spawn('/bin/sleep', ['1000'], { env: {}, stdio: 'ignore' })
     const shell = spawn('/bin/sh', ['-c', 'set -m; /bin/sleep 1000 >/dev/null & echo $!; kill -9 $$'], { env: {} })
     shell.stdout.once('data', pid => {
       console.log(first.pid + ' ' + pid)
       shell.once('exit', () => process.exit(0))
     })`,
  )
  const { result, events } = await shop.take({ command: [script] })
  const pids = (result.outcome === 'complete' ? result.text : '').split(' ').map(Number)
  expect(pids.length).toBe(2)
  expect(notices(events)).toEqual(['The agent left 2 processes running; the end of the turn ended that too.'])
  expect(pids.map(isAlive)).toEqual([false, false])
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie in a container without an init process still has a number.
    return !existsSync('/proc') || existsSync(`/proc/${pid}/exe`)
  } catch {
    return false
  }
}

test('a program that exits non-zero fails with its code and the end of its standard error', async () => {
  const script = shop.node(
    'fail.mjs',
    `console.error('ä'.repeat(5000)); console.error('the disk is full'); process.exitCode = 3`,
  )
  const { result } = await shop.take({ command: [script] })
  const { code, message, details } = errorOf(result)
  expect(code).toBe('exit_nonzero')
  expect(message).toBe('The agent tester (fail.mjs) ended with exit code 3: the disk is full')
  expect(details).toMatchObject({ exitCode: 3, signal: null })
  const stderr = details.stderr as string
  expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(4096)
  expect(stderr).toMatch(/^ä+\nthe disk is full\n$/)
})

test('a program that a signal ends fails with the name of the signal', async () => {
  const { result } = await shop.take({ command: [shop.shell('die', 'kill -9 $$')] })
  expect(errorOf(result)).toMatchObject({
    code: 'exit_nonzero',
    details: { exitCode: null, signal: 'SIGKILL' },
  })
})

test('garbage and half characters do not break a turn', async () => {
  const script = shop.node(
    'garbage.mjs',
    `process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x41, 0xc3]));
     process.stdout.write(Buffer.from([0xa4, 0x0a, 0x80, 0x0a, 0xe2, 0x82]))`,
  )
  for (const output of ['text', 'json-lines'] as const) {
    const { result } = await shop.take({ command: [script], output })
    expect(result).toMatchObject({ outcome: 'complete', text: '\ufffd\ufffdAä\n\ufffd\n\ufffd' })
  }
})

test.each([
  ['closes its input early gets no error and is not waited for', ['sh', '-c', 'exec <&-; echo ok'], 'ok'],
  ['need not read a prompt of 5 MB', ['echo', 'ok'], 'ok'],
  ['reads a prompt of 5 MB gets all of it', ['wc', '-c'], String(5 * 2 ** 20 + 1)],
])('a program that %s', async (_, command, text) => {
  const { result } = await shop.take({ command }, { prompt: 'x'.repeat(5 * 2 ** 20) })
  expect(result).toMatchObject({ outcome: 'complete', text })
})

test('a huge line without an end is cut, and memory stays bounded', async () => {
  const script = shop.node('line.mjs', `process.stdout.write('y'.repeat(6 * 2 ** 20))`)
  const { result, events } = await shop.take({ command: [script] })
  const text = result.outcome === 'complete' ? result.text : ''
  expect(text).toContain(`more characters]`)
  expect(text.length).toBeLessThan(66_000)
  const [event] = events.filter(({ type }) => type === 'text')
  expect((event as { text: string }).text.length).toBe(4096)
})

test.each([
  ['a name that is not on the PATH', 'parley-no-such-program', 'not_found'],
  ['a file that does not exist', './nothing', 'not_found'],
  ['a file without the x bit', './plain', 'not_executable'],
  ['a folder', './work', 'not_executable'],
  ['a script whose interpreter does not exist', './odd', 'not_found'],
])('%s cannot be started: the turn fails with a code', async (_, program, code) => {
  shop.file('plain', '#!/bin/sh\necho no', 0o644)
  shop.file('odd', '#!/no/such/interpreter\n')
  const { result } = await shop.take({ command: [program] })
  expect(errorOf(result).code).toBe(code)
  expect(errorOf(result).message).toContain('The agent tester cannot start')
})

test('a folder that is gone is not taken for a program that is missing', async () => {
  const { result } = await shop.take({ command: ['true'] }, { folder: join(shop.folder, 'gone') })
  expect(errorOf(result).code).toBe('folder_missing')
})

test('a prompt that no argument can hold is refused with the way out', async () => {
  const { result } = await shop.take({ command: ['echo', '{prompt}'] }, { prompt: 'x'.repeat(200_000) })
  expect(errorOf(result)).toMatchObject({ code: 'prompt_too_large', details: { bytes: 200_001 } })
  expect(errorOf(result).message).toContain('prompt: stdin')
})

test('an abort while the prompt file is written starts nothing and leaves no file', async () => {
  const script = shop.shell('touch', 'touch started')
  const turn = shop.begin({ command: [script, '{prompt_file}'] })
  turn.abort()
  expect(errorOf((await turn.done).result).code).toBe('aborted')
  expect(existsSync(join(shop.work, 'started'))).toBe(false)
  expect(readdirSync(shop.temporary)).toEqual([])
})

test('a turn whose starting process is killed has failed and leaves nothing; the next one works', async () => {
  const script = shop.shell('wait', 'echo ready\nsleep 1000')
  const turn = shop.begin({ command: [script] })
  await turn.until(isText('ready'))
  const [starter] = readdirSync('/proc').filter(
    pid =>
      /program-server/.test(tryRead(`/proc/${pid}/cmdline`) ?? '') &&
      parseStat(tryRead(`/proc/${pid}/stat`)!)?.parent === process.pid,
  )
  process.kill(Number(starter), 'SIGKILL')
  expect(errorOf((await turn.done).result)).toMatchObject({ code: 'exit_nonzero', details: { signal: 'SIGKILL' } })
  await shop.expectNothingLeft()
  const next = await shop.begin({ command: [shop.shell('say', 'echo there')] }).done
  expect(next.result).toMatchObject({ outcome: 'complete', text: 'there' })
})
