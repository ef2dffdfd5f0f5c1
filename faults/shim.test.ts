// The preload library: chosen calls on chosen files fail in a process that runs, on every thread, and nothing else
// does.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { Control, type Operation } from './control.ts'
import { compiledShim } from './shim.ts'

const folder = mkdtempSync(join(tmpdir(), 'parley-shim-'))
const library = compiledShim(folder)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Does what it is told, one line at a time, and says what came of it. */
const VICTIM = `
const fs = require('node:fs'), { Worker } = require('node:worker_threads'), { DatabaseSync } = require('node:sqlite')
const { execFileSync } = require('node:child_process')
const { errno } = require('node:os').constants, names = Object.keys(errno)
const [, file, other, database] = process.argv
fs.writeFileSync(file, 'x')
const handle = fs.openSync(file, 'r+')
new DatabaseSync(database).exec('pragma journal_mode = wal; create table t (a)')
const onThread = "const { workerData: d, parentPort: p } = require('node:worker_threads');" +
  "try { new (require('node:sqlite').DatabaseSync)(d).exec('insert into t values (1)'); p.postMessage('done') } catch (e) { p.postMessage(e.message) }"
const acts = {
  write: () => void fs.writeSync(handle, 'a', 0),
  pool: () => fs.promises.writeFile(file, 'b'),
  sync: () => fs.fdatasyncSync(handle),
  read: () => fs.readFileSync(file),
  create: () => fs.writeFileSync(file + '2', ''),
  rename: () => fs.renameSync(other, file + '3'),
  remove: () => fs.rmSync(file + '2', { force: true }),
  mkdir: () => fs.mkdirSync(file + '.d'),
  other: () => fs.writeFileSync(other, 'c'),
  thread: () => new Promise((resolve, reject) => new Worker(onThread, { eval: true, workerData: database })
    .once('message', said => said === 'done' ? resolve() : reject(new Error(said)))),
  now: () => Date.now(),
  child: () => execFileSync(process.execPath, ['-p', 'process.env.LD_PRELOAD ?? "none"'], { encoding: 'utf8' }).trim(),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', async name => {
  try { const said = await acts[name](); console.log(typeof said === 'object' || said === undefined ? 'done' : said) }
  catch (error) { console.log(names.find(name => errno[name] === -error.errno) ?? error.message) }
})
console.log('ready')
`

async function victim(control: Control) {
  const names = ['victim.txt', 'other.txt', 'victim.db'].map(name => join(folder, name))
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '-e', VICTIM, ...names], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, LD_PRELOAD: library, PARLEY_FAULTS: control.file },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  expect(await next()).toBe('ready')
  onTestFinished(async () => {
    child.stdin.end()
    await new Promise(resolve => child.once('exit', resolve))
    control.close()
  })
  return (act: string) => {
    child.stdin.write(`${act}\n`)
    return next()
  }
}

test.skipIf(library === undefined)(
  'calls fail with the error that is set, on every thread, for as long or as often as is said',
  async () => {
    const control = new Control(join(folder, 'control'))
    const does = await victim(control)
    const all = ['write', 'pool', 'sync', 'read', 'create', 'thread', 'remove'] as const
    for (const act of all) expect(await does(act), act).toBe('done')
    const failing: readonly (readonly [Operation, string])[] = [
      ['write', 'write'],
      ['create', 'pool'],
      ['sync', 'sync'],
      ['read', 'read'],
      ['create', 'create'],
      ['rename', 'rename'],
      ['mkdir', 'mkdir'],
    ]
    for (const [operation, act] of failing) {
      // Not its database as well: a thread that has just ended may still close it.
      control.set([{ operations: [operation], path: 'victim.txt', error: 'ENOSPC' }])
      expect(await does(act), act).toBe('ENOSPC')
      expect(await does('other')).toBe('done')
      expect(control.hits).toBe(1)
    }
    for (const error of ['EIO', 'EROFS', 'EDQUOT', 'ENOMEM'] as const) {
      control.set([{ operations: ['write'], path: 'victim.txt', error }])
      expect(await does('write')).toBe(error)
    }
    control.set([{ operations: ['write'], path: 'victim.db', error: 'EIO' }])
    expect(await does('thread')).toBe('disk I/O error')
    control.set([{ operations: ['write'], path: 'vic*.txt$', error: 'EIO', times: 2 }])
    expect([await does('write'), await does('write'), await does('write')]).toEqual(['EIO', 'EIO', 'done'])
    control.clear()
    for (const act of all) expect(await does(act), act).toBe('done')
    // The wall clock, and no program that it starts.
    control.clockMs = 86_400_000
    expect(Number(await does('now')) - Date.now()).toBeGreaterThan(86_000_000)
    control.clockMs = -86_400_000
    expect(Number(await does('now')) - Date.now()).toBeLessThan(-86_000_000)
    expect(await does('child')).toBe('none')
  },
)

test.skipIf(library === undefined)('programs that it starts have the faults too, where that is asked for', async () => {
  const control = new Control(join(folder, 'control-2'))
  onTestFinished(() => control.close())
  control.set([{ operations: ['write'], path: '/victim.txt$', error: 'EIO' }])
  const inherited = async (more: Readonly<Record<string, string>>) => {
    const env = { ...process.env, LD_PRELOAD: library, PARLEY_FAULTS: control.file, ...more }
    // Two programs in between, as a node and its git server are.
    const script = `sh -c "sh -c 'echo written > victim.txt'"`
    const child = spawn('sh', ['-c', `${script}; exit $?`], { cwd: folder, env, stdio: 'ignore' })
    return new Promise(resolve => child.once('exit', resolve))
  }
  expect(await inherited({})).toBe(0)
  expect(await inherited({ PARLEY_FAULTS_CHILDREN: '1' })).not.toBe(0)
})
