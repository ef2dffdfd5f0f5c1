// Ids are opaque (W-ID-01 to -06): a generator without order or form changes nothing but the ids themselves.
import { type IdSource, SeededIds, unwrap } from '@parley/core'
import { type Entry, seededRandom } from '@parley/trail'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture } from '../testing/fixture.ts'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&*+-./:;<=>?@^_~'

/** Notes what each id was made for, in order of issue. */
class NotedIds implements IdSource {
  readonly issued = new Map<string, string>()
  readonly #make: (prefix: string) => string
  readonly #counts = new Map<string, number>()

  constructor(make: (prefix: string) => string) {
    this.#make = make
  }

  next(prefix: string): string {
    const id = this.#make(prefix)
    expect(this.issued.has(id)).toBe(false)
    const count = (this.#counts.get(prefix) ?? 0) + 1
    this.#counts.set(prefix, count)
    this.issued.set(id, `${prefix}#${count}`)
    return id
  }

  /** A value with each id replaced by what it was made for. */
  named<T>(value: T): T {
    return JSON.parse(JSON.stringify(value), (_key, each) =>
      typeof each === 'string' ? this.#named(each) : each,
    ) as T
  }

  #named(text: string): string {
    // The agent that a workspace has by default.
    if (text.startsWith('agent:')) return `agent:${this.#named(text.slice(6))}`
    return this.issued.get(text) ?? text
  }
}

/** No prefix, no common length, no order. */
function unordered(seed: number): () => string {
  const random = seededRandom(seed)
  const letter = () => LETTERS[Math.floor(random() * LETTERS.length)]
  return () => Array.from({ length: 9 + Math.floor(random() * 40) }, letter).join('')
}

function ordered(seed: number): (prefix: string) => string {
  const ids = new SeededIds(seed)
  return prefix => ids.next(prefix)
}

const payload = { format: 'markdown', content: 'work' }

/** The flows of WP-002, WP-006, WP-051 and WP-060, and of whatever keeps an order. */
async function runFlows(f: Fixture): Promise<void> {
  // WP-002, WP-006
  const worker = await f.workspace('W', { owner: 'ux', directive: payload, dispatch: false })
  expect(await f.state('W')).toBe('idle')
  const sent = unwrap(await f.root.dispatch(worker.workspace))
  await f.settle()
  expect(unwrap(await worker.look())).toMatchObject({ status: 'active', directive: sent.envelope })
  expect(unwrap(await f.root.readEnvelope(sent.envelope)).status).toBe('acknowledged')
  // WP-051
  const artifacts = [{ path: 'a' }, { path: 'b' }]
  const made = unwrap(await f.checkpoint('W', { payload: { artifacts } }))
  for (const artifact of made.artifacts)
    expect(unwrap(await f.root.readArtifact(artifact)).checkpoint).toBe(made.checkpoint)
  for (let count = 0; count < 8; count++) unwrap(await f.checkpoint('W'))
  // WP-060
  const names = ['A', 'B', 'C', 'D', 'E', 'F', 'G']
  const drafts = names.map(name => ({
    key: name,
    name,
    description: name,
    depends_on: name === 'G' ? ['A'] : [],
  }))
  const { graph, tasks } = unwrap(await f.root.submitGraph(drafts))
  const listed = unwrap(await f.root.dispatchable(graph)).map(task => task.name)
  expect(listed).toEqual(names.slice(0, -1))
  const bound = await f.worker('T', { task: tasks[0]! })
  unwrap(await bound.started())
  unwrap(await f.final('T'))
  unwrap(await bound.complete())
  expect(unwrap(await f.root.dispatchable(graph)).map(task => task.name)).toEqual(names.slice(1))
  const variant = await f.worker('T2', { task: tasks[1]! })
  unwrap(await f.final('T2'))
  unwrap(await variant.complete())
  expect(unwrap(await f.root.task(tasks[1]!)).status).toBe('completed')
  // Mail of one channel, held and released.
  unwrap(await f.root.suspend(worker.workspace, 'pause'))
  for (let count = 0; count < 8; count++) unwrap(await f.root.feedback(worker.workspace, payload))
  unwrap(await f.root.resume(worker.workspace))
  await f.settle()
  for (let count = 0; count < 9; count++) unwrap(await worker.consume())
  expect(unwrap(await worker.consume())).toBeUndefined()
}

/** The ids of all objects and entries, each taken where it was created. */
function createdIds(entries: readonly Entry[]): readonly string[] {
  const fields = {
    workspace_created: 'workspace_id',
    envelope_created: 'envelope_id',
    signal_emitted: 'signal_id',
    checkpoint_created: 'checkpoint_id',
    graph_created: 'graph_id',
    task_created: 'task_id',
    port_right_created: 'right_id',
  }
  return entries.flatMap(({ id, event_type, body }) => {
    const field = fields[event_type as keyof typeof fields]
    const own = field ? [(body as Record<string, unknown>)[field] as string] : []
    return [id, ...own, ...((body as { artifact_ids?: string[] }).artifact_ids ?? [])]
  })
}

async function pages(agent: AgentHandle, limit: number, order: 'ascending' | 'descending'): Promise<Entry[]> {
  const found: Entry[] = []
  for (let after: number | undefined; ; ) {
    const page = unwrap(await agent.query({ limit, order, ...(after !== undefined && { after }) }))
    found.push(...page.entries)
    expect(page.cursor).toBe(page.entries.at(-1)?.seq ?? after ?? 0)
    if (!page.more) return found
    after = page.cursor
  }
}

test('WP-079 with ids that are random unordered strings every flow leaves the very same trail', async () => {
  const trails: unknown[] = []
  for (const make of [ordered(1), unordered(1), unordered(2)]) {
    const ids = new NotedIds(make)
    const f = await fixture({ ids })
    await runFlows(f)
    const entries = await f.run.entries()
    expect(new Set(createdIds(entries)).size).toBe(createdIds(entries).length)
    for (const id of createdIds(entries)) expect(ids.issued.has(id), id).toBe(true)
    trails.push(
      entries.map(({ prev_hash: _prev, integrity: _chain, body, ...entry }) => {
        // A proof covers the ids, and so differs with them.
        const { integrity: _proof, ...said } = body as Record<string, unknown>
        return ids.named({ ...entry, body: said })
      }),
    )
  }
  const [expected, ...others] = trails
  for (const trail of others) expect(trail).toEqual(expected)
})

test('WP-079 siblings, chains, mail, pages and cursors follow the sequence numbers, whatever the ids', async () => {
  const f = await fixture({ ids: new NotedIds(unordered(3)) })
  await runFlows(f)
  const entries = await f.run.entries()
  const inOrder = (type: string, field: string, among: object = {}) =>
    entries
      .filter(each => each.event_type === type && matches(each.body, among))
      .map(each => (each.body as Record<string, unknown>)[field])

  const children = inOrder('workspace_created', 'workspace_id', { parent: f.root.workspace })
  expect(unwrap(await f.root.look()).children).toEqual(children)
  const chain = inOrder('checkpoint_created', 'checkpoint_id', { workspace: f.id('W') })
  expect(unwrap(await f.agent('W').look()).register.map(({ id }) => id)).toEqual(chain)
  const mail = { to: f.id('W') }
  expect(inOrder('envelope_delivered', 'envelope_id', mail)).toEqual(
    inOrder('envelope_created', 'envelope_id', mail),
  )
  expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index + 1))
  for (const limit of [1, 7]) {
    expect(await pages(f.root, limit, 'ascending')).toEqual(entries)
    expect(await pages(f.root, limit, 'descending')).toEqual(entries.toReversed())
  }
  const sorted = [...children].sort()
  expect(sorted, 'the ids of this test are not in order by chance').not.toEqual(children)
})

function matches(body: object, wanted: object): boolean {
  return Object.entries(wanted).every(([key, value]) => (body as Record<string, unknown>)[key] === value)
}

test('WP-079 ids stay through suspension and restart, and are never given out again', async () => {
  const ids = new NotedIds(unordered(4))
  const f = await fixture({ ids })
  await runFlows(f)
  const picture = await f.picture()
  unwrap(await f.root.suspend(f.id('W'), 'pause'))
  const names = (value: unknown) => JSON.stringify(value).replaceAll(/"(suspended|active)"/g, '""')
  const suspended = (await f.picture()) as { workspaces: { remembered?: string }[] }
  for (const each of suspended.workspaces) delete each.remembered
  expect(names(suspended)).toBe(names(picture))
  unwrap(await f.root.resume(f.id('W')))
  await f.restart()
  expect(await f.picture()).toEqual(picture)
  // A rejected envelope used its id up (W-ID-06).
  const first = await f.agent('W').send({ ...f.mail('R', 'directive') })
  const second = await f.agent('W').send({ ...f.mail('R', 'query') })
  expect(first.ok).toBe(false)
  expect(unwrap(second).envelope).not.toBe(!first.ok && first.error.details.envelope)
})
