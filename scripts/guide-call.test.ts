// What docs/guide/call.md says is so: its programs talk to each other and print what it claims, its tables are the
// package's own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as call from '@parley/call'
import { CallNode, callLimits, memoryPair, OperationRegistry, operation, type Receiver } from '@parley/call'
import { expect, onTestFinished, test } from 'vitest'
import { CALL_CODES } from '../packages/call/src/error.ts'
import { callDefaults } from '../packages/call/src/limits.ts'
import { PROFILES } from '../packages/call/src/profile/profile.ts'
import { FLAGS, folderWith, GuidePage, ROOT } from './guide-page.ts'

type Envelope = Parameters<Receiver['envelope']>[0]

const guide = new GuidePage('call')

/** A folder with the guide's programs in it, each of which begins with its name. */
const folder = () =>
  folderWith(Object.fromEntries(guide.blocks('ts').map(program => [/^\/\/ (\w+\.ts)\n/.exec(program)![1]!, program])))

class Program {
  readonly #child: ChildProcess
  printed = ''

  constructor(cwd: string, file: string) {
    this.#child = spawn(process.execPath, [...FLAGS, file], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.printed += text
    })
    onTestFinished(() => void this.#child.kill('SIGKILL'))
  }

  /** Until it has printed so many lines; a program that ends before that never will. */
  async lines(count: number): Promise<void> {
    const done = () => this.printed.split('\n').length > count || this.#child.exitCode !== null
    await expect.poll(done, { timeout: 30_000 }).toBe(true)
  }
}

test('the server, the worker and the client of the Call guide run as they stand and print what it says', async () => {
  const cwd = folder()
  const [fromClient, fromServer, fromWorker] = guide.blocks('text')
  const server = new Program(cwd, 'server.ts')
  await server.lines(1)
  const worker = new Program(cwd, 'worker.ts')
  await worker.lines(2)
  const printed = execFileSync(process.execPath, [...FLAGS, 'client.ts'], { cwd, encoding: 'utf8' })
  expect(printed).toBe(fromClient)
  await worker.lines(5)
  expect(server.printed).toBe(fromServer)
  expect(worker.printed).toBe(fromWorker)
})

test('the program of the Call guide for all transports runs as it stands and prints what it says', () => {
  const options = { cwd: folder(), encoding: 'utf8' } as const
  expect(execFileSync(process.execPath, [...FLAGS, 'transports.ts'], options)).toBe(guide.blocks('text')[3])
})

test('the request and the spec that the Call guide shows are understood as it says', async () => {
  const [request, spec] = guide.blocks('json').map(text => JSON.parse(text) as Record<string, unknown>)
  const open = { opType: 'query', inputSchema: {}, outputSchema: {}, accessControl: {} } as const
  const read = operation(open, (input, { deadline, metadata, parentRequestId, forwardedFor }) => ({
    input,
    deadline,
    metadata,
    parentRequestId,
    forwarded_for: forwardedFor,
  }))
  const node = new CallNode({ registry: new OperationRegistry({ '/notes/read': read }), head: true })
  const worker = { id: 'worker', kind: 'agent', scopes: ['node:register', 'text:read'] } as const
  const [mine, heads] = memoryPair({ first: worker })
  node.attach(heads)
  onTestFinished(() => node.close())

  const answers: Envelope[] = []
  const envelope = (answer: Envelope) => void answers.push(answer)
  const nothing = () => undefined
  mine.start({ envelope, violation: nothing, drain: nothing, closed: nothing })
  const next = async (asked: object) => {
    mine.send(JSON.stringify(asked))
    await expect.poll(() => answers.length).toBe(1)
    return answers.pop()!.payload
  }
  const call = (name: string, input: unknown) => next({ type: 'call.requested', id: 'r', payload: { name, input } })

  const { name: _name, auth_token: _token, idleTimeout: _idle, ...told } = request!.payload as Record<string, unknown>
  expect(await next(request!)).toEqual(told)
  await call('/head/services/register', { node: 'dev1', operations: [spec] })
  const routed = { ...spec, name: '/dev1/text/count' }
  expect(await call('/services/schema', { name: '/dev1/text/count' })).toEqual(routed)
})

test('the programs of the Call guide compile', () => {
  const cwd = folder()
  const options = { strict: true, noEmit: true, types: ['node'], lib: ['es2024'], skipLibCheck: true }
  const resolving = { module: 'nodenext', target: 'es2024', customConditions: ['parley-source'] }
  const files = { allowImportingTsExtensions: true, verbatimModuleSyntax: true, noUncheckedIndexedAccess: true }
  const compilerOptions = { ...options, ...resolving, ...files }
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
  expect(() => execFileSync(process.execPath, [compiler, '-p', cwd], { encoding: 'utf8' })).not.toThrow()
})

test('the Call guide lists every code with its name in OPS, and limits and times with the numbers that hold', () => {
  const codes = Object.entries(CALL_CODES).map(([code, { ops, retryable }]) => [code, ops, retryable ? 'yes' : 'no'])
  expect(guide.rows('## Errors').map(row => row.slice(0, 3))).toEqual(codes)
  const bounds: Readonly<Record<string, number>> = { ...callLimits, ...callDefaults }
  const numbers = guide.rows('## Limits')
  expect(numbers.length).toBeGreaterThan(15)
  for (const [name, bound] of numbers) expect([name, bound]).toEqual([name, bounds[name!]?.toLocaleString('en-GB')])
  expect(guide.rows('## Profiles').map(([name]) => name)).toEqual([...PROFILES])
})

test('the Call guide names functions for transports that are there', () => {
  const named = guide.rows('## Transports').flatMap(([, serve, dial]) => [serve!, dial!])
  expect(named.filter(name => !(name in call))).toEqual([])
  expect(named.length).toBeGreaterThan(10)
})
