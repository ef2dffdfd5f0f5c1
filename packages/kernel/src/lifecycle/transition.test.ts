import type { Result, WorkspaceId } from '@parley/core'
import { ok, unwrap } from '@parley/core'
import type { SignalType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

/**
 * Every public operation on a worker W, and every signal, in every state (`resting`: suspended while it was blocked). A cell is the
 * state that W gets into; or `-` done without a transition, `~` absorbed, `!` invalid_state, `x` denied on record, `r` rejected on
 * record, `u` unsupported at this level, `f` frozen on record, `a` invalid_argument.
 */
const COORDINATOR = `
                    idle    active     blocked    suspended  resting  migrating  integrating  conflicted  closed  failed
  abort             failed  failed     failed     failed     failed   failed     failed       failed      !       !
  suspend           !       suspended  suspended  !          !        !          !            !           !       !
  resume            !       !          !          active     blocked  !          !            !           !       !
  migrate           !       migrating  migrating  !          !        !          !            !           !       !
  terminate         !       -          -          !          !        !          !            !           !       !
  begin             !       !          !          !          !        !          -            !           !       !
  accept            !       !          !          !          !        !          closed       !           !       !
  revise            !       !          !          !          !        !          failed       !           !       !
  reject            !       !          !          !          !        !          failed       !           !       !
  merge_error       !       !          !          !          !        !          !            !           !       !
  directive         active  -          -          -          -        -          r            r           r       r
  feedback          active  -          -          -          -        -          r            r           r       r
  dispatch          !       !          !          !          !        !          !            !           !       !
  child             r       r          r          r          r        r          r            r           r       r
  set_authority     f       f          f          f          f        f          f            f           f       f
  set_delegate      f       f          f          f          f        f          f            f           f       f
  hide              f       f          f          f          f        f          f            f           f       f
  grant_right       -       -          -          -          -        -          -            -           !       !
  emit:ready        -       -          -          -          -        -          -            -           -       -
  emit:started      ~       ~          ~          ~          ~        ~          ~            ~           ~       ~
  emit:blocked      x       x          x          x          x        x          x            x           x       x
  emit:checkpoint   x       x          x          x          x        x          x            x           x       x
  emit:complete     x       x          x          x          x        x          x            x           x       x
  emit:integrate    !       !          !          !          !        !          -            !           !       !
  emit:acknowledged -       -          -          -          -        -          -            -           -       -
  emit:escalation   x       x          x          x          x        x          x            x           x       x
  emit:suspend      !       suspended  suspended  !          !        !          !            !           !       !
  emit:migrate      !       a          a          !          !        !          !            !           !       !
  emit:failed       failed  failed     failed     failed     failed   failed     failed       failed      -       -
  close_run         !       !          !          !          !        !          !            !           -       -
  stop_run          failed  failed     failed     failed     failed   failed     failed       failed      -       -
`
const AGENT = `
                    idle    active       blocked  suspended  resting  migrating  integrating  conflicted  closed  failed
  abort             x       x            x        x          x        x          x            x           x       x
  suspend           x       x            x        x          x        x          x            x           x       x
  resume            x       x            x        x          x        x          x            x           x       x
  migrate           x       x            x        x          x        x          x            x           x       x
  terminate         x       x            x        x          x        x          x            x           x       x
  begin             x       x            x        x          x        x          x            x           x       x
  accept            x       x            x        x          x        x          x            x           x       x
  revise            x       x            x        x          x        x          x            x           x       x
  reject            x       x            x        x          x        x          x            x           x       x
  merge_error       x       x            x        x          x        x          x            x           x       x
  query             r       -            -        r          r        r          r            r           r       r
  consume           !       -            -        f          f        f          x            x           x       x
  checkpoint        r       -            r        r          r        r          r            r           r       r
  write_memory      x       -            -        x          x        x          x            x           x       x
  child             x       x            x        x          x        x          x            x           x       x
  set_authority     f       f            f        f          f        f          f            f           f       f
  set_delegate      f       f            f        f          f        f          f            f           f       f
  grant_right       x       x            x        x          x        x          x            x           x       x
  emit:ready        -       -            -        f          f        f          -            -           ~       ~
  emit:started      ~       ~            active   f          f        f          ~            ~           ~       ~
  emit:blocked      ~       blocked      ~        f          f        f          ~            ~           ~       ~
  emit:checkpoint   -       -            -        f          f        f          -            -           ~       ~
  emit:complete     ~       integrating  ~        f          f        f          ~            ~           ~       ~
  emit:integrate    x       x            x        x          x        x          x            x           x       x
  emit:acknowledged x       x            x        x          x        x          x            x           x       x
  emit:escalation   -       -            -        f          f        f          -            -           ~       ~
  emit:suspend      x       x            x        x          x        x          x            x           x       x
  emit:migrate      x       x            x        x          x        x          x            x           x       x
  emit:failed       failed  failed       failed   f          f        f          ~            ~           ~       ~
`

type Attempt = (f: Fixture, caller: AgentHandle) => Promise<Result<unknown>>

const onW =
  (call: (caller: AgentHandle, id: WorkspaceId) => Promise<Result<unknown>>): Attempt =>
  (f, caller) =>
    call(caller, f.id('W'))

/** A migration whose new agent never gets ready: what counts here is that it began. */
async function begun(f: Fixture, caller: AgentHandle): Promise<Result<unknown>> {
  f.unprepared = true
  const migrated = caller.migrate(f.id('W'), 'agent_2', 'move')
  const result = await Promise.race([migrated, f.settle().then(() => ok(undefined))])
  f.unprepared = false
  return result
}

const OPERATIONS: Readonly<Record<string, Attempt>> = {
  abort: onW((caller, id) => caller.abort(id)),
  suspend: onW((caller, id) => caller.suspend(id, 'paused')),
  resume: onW((caller, id) => caller.resume(id)),
  migrate: begun,
  terminate: onW((caller, id) => caller.terminate(id, 1000, 'enough')),
  begin: onW((caller, id) => caller.beginIntegration(id)),
  accept: onW((caller, id) => caller.accept(id)),
  revise: onW((caller, id) => caller.revise(id)),
  reject: onW((caller, id) => caller.reject(id)),
  merge_error: onW((caller, id) => caller.failIntegration(id)),
  dispatch: onW((caller, id) => caller.dispatch(id)),
  child: onW((caller, parent) => caller.createWorkspace({ role: 'worker', parent })),
  set_authority: onW((caller, id) => caller.setAuthority(id)),
  set_delegate: onW((caller, id) => caller.setDelegate(id)),
  hide: onW((caller, id) => caller.revokeVisibility(id)),
  grant_right: (f, caller) => caller.grantRight('send', f.id('W'), f.id('R')),
  directive: (f, caller) => caller.send(f.mail('W', 'directive')),
  feedback: (f, caller) => caller.send(f.mail('W', 'feedback')),
  query: (f, caller) => caller.send(f.mail('R', 'query')),
  consume: (_f, caller) => caller.consume(),
  checkpoint: f => f.checkpoint('W'),
  write_memory: (_f, caller) => caller.writeMemory('k', 1),
  close_run: f => f.run.close(),
  stop_run: f => f.run.stop(),
}

function attempt(f: Fixture, caller: AgentHandle, operation: string): Promise<Result<unknown>> {
  const known = OPERATIONS[operation]
  if (known) return known(f, caller)
  const type = operation.slice('emit:'.length) as SignalType
  return caller.emit({ type, reason: 'x', ref: f.id('W') })
}

interface Column {
  readonly state: string
  readonly cells: readonly (readonly [operation: string, cell: string])[]
}

function columns(table: string): readonly Column[] {
  const [head, ...rows] = table
    .trim()
    .split('\n')
    .map(line => line.trim().split(/\s+/))
  return head!.map((state, index) => ({ state, cells: rows.map(row => [row[0]!, row[index + 1]!] as const) }))
}

/** A run with W in a state, beneath the root or beneath a delegate D. */
async function given(state: string, parent: 'R' | 'D' = 'R'): Promise<Fixture> {
  const f = await fixture()
  const creator = parent === 'D' ? await f.worker('D', { delegate: true }) : f.root
  await (state === 'idle' ? f.workspace('W', {}, creator) : f.worker('W', {}, creator))
  if (state === 'resting') await f.force('W', 'blocked')
  await f.force('W', state === 'resting' ? 'suspended' : state)
  return f
}

/** Whether the run must be made anew before the next attempt: it was changed. */
async function spent(f: Fixture, state: string): Promise<boolean> {
  if ((await f.state('R')) !== 'active') return true
  const begun = await f.run.read(run => run.workspaces.get(f.id('W'))?.integration !== undefined)
  if (state === 'integrating' && begun) return true
  return (await f.state('W')) !== (state === 'resting' ? 'suspended' : state)
}

const CODES: Readonly<Record<string, string>> = {
  invalid_state: '!',
  permission_denied: 'x',
  'invalid_state(permission_denied)': 'x',
  'permission_denied(frozen)': 'f',
  'invalid_state(frozen)': 'f',
  'immutable(frozen)': 'f',
  'immutable(irrevocable)': 'f',
  unsupported: 'u',
  invalid_argument: 'a',
}

/** What an attempt came to, as a cell; with the trail and the objects behind it checked for what that cell promises. */
async function outcome(f: Fixture, caller: AgentHandle, operation: string): Promise<string> {
  const before = await f.picture()
  const result = await attempt(f, caller, operation)
  const added = await f.added()
  const changes = added.flatMap(entry =>
    entry.event_type === 'workspace_state_changed' && entry.workspace === f.id('W') ? [entry.body] : [],
  ) as { to_state: string }[]
  expect(changes.length, operation).toBeLessThanOrEqual(1)
  const [change] = changes
  if (change) {
    expect(result.ok, operation).toBe(true)
    return change.to_state
  }
  const types = added.map(entry => entry.event_type)
  if (result.ok) {
    const absorbed = (result.value as { outcome?: string } | undefined)?.outcome === 'absorbed'
    return absorbed ? '~' : '-'
  }
  expect(await f.picture(), operation).toEqual(before)
  const code = refused(result)
  if (code.startsWith('rejected')) {
    expect(types).toEqual([expect.stringMatching(/^(envelope|checkpoint|workspace)_rejected$/)])
    return 'r'
  }
  const cell = CODES[code] ?? code
  expect(types, `${operation}: ${code}`).toEqual('xf'.includes(cell) ? ['capability_denied'] : [])
  return cell
}

async function tried(column: Column, by: 'R' | 'W' | 'D'): Promise<Column['cells']> {
  const parent = by === 'D' ? 'D' : 'R'
  const cells: (readonly [string, string])[] = []
  let f = await given(column.state, parent)
  for (const [operation] of column.cells) {
    if (await spent(f, column.state)) f = await given(column.state, parent)
    await f.mark()
    cells.push([operation, await outcome(f, by === 'R' ? f.root : f.agent(by), operation)])
  }
  return cells
}

test.each(columns(COORDINATOR))(
  'WP-009 whatever the coordinator tries on a workspace that is $state, only legal transitions happen',
  async column => {
    expect(await tried(column, 'R')).toEqual(column.cells)
  },
)

test.each(columns(AGENT))(
  'WP-009 whatever the agent of a workspace that is $state tries, only legal transitions happen',
  async column => {
    expect(await tried(column, 'W')).toEqual(column.cells)
  },
)

const DELEGATED = [
  'abort',
  'suspend',
  'resume',
  'migrate',
  'terminate',
  'begin',
  'accept',
  'revise',
  'reject',
  'directive',
]

test.each(columns(COORDINATOR))(
  'WP-009 an active delegate moves a child of its own that is $state just as the coordinator would',
  async ({ state, cells }) => {
    const column = { state, cells: cells.filter(([operation]) => DELEGATED.includes(operation)) }
    expect(await tried(column, 'D')).toEqual(column.cells)
  },
)

test('WP-009 the tables hold every pair that one operation or signal can cause, and no other', () => {
  const named = (state: string) => (state === 'resting' ? 'suspended' : state)
  const pairs = new Set(
    [COORDINATOR, AGENT].flatMap(table =>
      columns(table).flatMap(({ state, cells }) =>
        cells.filter(([, cell]) => cell.length > 1).map(([, cell]) => `${named(state)} → ${cell}`),
      ),
    ),
  )
  expect([...pairs].toSorted()).toEqual([
    'active → blocked',
    'active → failed',
    'active → integrating',
    'active → migrating',
    'active → suspended',
    'blocked → active',
    'blocked → failed',
    'blocked → migrating',
    'blocked → suspended',
    'conflicted → failed',
    'idle → active',
    'idle → failed',
    'integrating → closed',
    'integrating → failed',
    'migrating → failed',
    'suspended → active',
    'suspended → blocked',
    'suspended → failed',
  ])
})

test('WP-009 another agent can neither move a workspace nor speak for it', async () => {
  const f = await fixture()
  await f.worker('W')
  const other = await f.worker('X')
  const observer = await f.observer('O')
  await f.mark()
  const before = await f.picture()
  for (const caller of [other, observer]) {
    for (const operation of ['abort', 'suspend', 'resume', 'migrate', 'begin', 'accept', 'revise', 'reject'])
      expect(await outcome(f, caller, operation), operation).toBe('x')
    const forged = { type: 'complete', from: f.id('W') } as never
    expect(refused(await caller.emit(forged))).toBe('permission_denied(invalid_credential)')
    const [entry] = await f.added()
    expect(entry).toMatchObject({ event_type: 'authentication_failed', body: { source: caller.workspace } })
  }
  expect(await f.picture()).toEqual(before)
})

test('WP-009 a merge that fails, once begun, fails the source', async () => {
  const f = await given('integrating')
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  expect(await outcome(f, f.root, 'merge_error')).toBe('failed')
})
