// Attribution, authority, one writer, denials (wacp-audit): in whose name acts are recorded, and that no denial is
// silent.
import { deepStrictEqual, ok } from 'node:assert'
import { denied, noCheckpoint } from '../../entry-rows.ts'
import { another, only } from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const WORK = { format: 'markdown', content: 'work' } as const
const MINUTE = 60_000

/** A delegate D below the root, and a worker W below that. */
async function deep(kit: Kit): Promise<void> {
  await kit.delegate('D')
  await kit.worker('W', {}, 'D')
  await kit.mark()
}

const created = (actor: string, from: string, to: string, type: string): Row => [
  'envelope_created',
  from,
  actor,
  { from, to, type },
]

/** Whom the proof of the newest such entry names. */
async function doer(kit: Kit, type: string, actor: string): Promise<string | null> {
  const entries = await kit.entries()
  const entry = entries.findLast(each => each.event_type === type && each.actor === actor)
  ok(entry, `${type} by ${actor}`)
  return (await kit.do('runtime', 'proof_report', { entry: entry.id })).who
}

/** The agent that the creation of a workspace names. */
async function agentOf(kit: Kit, name: string): Promise<unknown> {
  const entries = await kit.entries()
  return entries.find(each => each.event_type === 'workspace_created' && each.workspace === kit.id(name))?.body.agent
}

scenario(
  'WX-001 whoever asks a grandchild to wind down is the sender of the mail',
  { level: 3, rules: ['W-TERM-02', 'W-SEC-17'] },
  async kit => {
    await deep(kit)
    await kit.do('R', 'suspend', { workspace: 'D', reason: 'pause' })
    await kit.mark()
    await kit.do('R', 'terminate', { workspace: 'W', grace_period: 50_000, reason: 'enough' })
    const added = await kit.expectAmong([
      ['graceful_termination_initiated', 'W', 'system', { workspace_id: 'W' }],
      created('system', 'R', 'W', 'feedback'),
    ])
    deepStrictEqual(
      added.filter(({ workspace, actor }) => workspace === kit.id('D') || actor === 'worker'),
      [],
    )
    deepStrictEqual((await kit.do('W', 'consume_envelope'))?.from, kit.id('R'))
    deepStrictEqual(await doer(kit, 'envelope_created', 'system'), await agentOf(kit, 'R'))
  },
)

scenario(
  'WX-002 the directive of a grandchild goes out in the name of whoever created it',
  { level: 2, rules: ['W-WS-07', 'W-PORT-04'] },
  async kit => {
    await deep(kit)
    await kit.workspace('G', { parent: 'D', directive: WORK })
    await kit.settle()
    await kit.expectAmong([
      ['port_right_created', 'R', 'system', { right_type: 'send_once', holder: 'R', target: 'G' }],
      created('system', 'R', 'G', 'directive'),
      ['port_right_consumed', 'R', 'protocol', { holder: 'R', target: 'G' }],
    ])
    await kit.refuses('REJECTED', 'R', 'send_envelope', { ...kit.mail('G', 'feedback') }, 'no_send_right')
  },
)

scenario(
  'WX-003 the word to go on that nobody said is recorded as the fallback\u2019s',
  { level: 2, rules: ['W-HWY-22', 'W-TRAIL-02'], users: ['ux'] },
  async kit => {
    const escalation = { enabled: true, timeout: MINUTE, fallback: 'approve' }
    await another(kit, { gates: { task_approval: false }, escalation })
    await deep(kit)
    await kit.emit('W', 'blocked', { reason: 'stuck' })
    await kit.emit('W', 'escalation', { reason: 'help' })
    await kit.mark()
    await kit.advance(MINUTE + 1)
    await kit.expectAmong([
      ['escalation_timeout', 'W', 'fallback'],
      created('fallback', 'R', 'W', 'feedback'),
      ['escalation_resolved', 'W', 'fallback', { response_type: 'envelope' }],
    ])
  },
)

scenario(
  'WX-004 what a delegate does to a worker of its own role is proven to be the delegate\u2019s act',
  { level: 2, rules: ['W-SEC-17'] },
  async kit => {
    await deep(kit)
    const delegate = await agentOf(kit, 'D')
    deepStrictEqual(await doer(kit, 'workspace_created', 'worker'), delegate)
    await kit.do('D', 'suspend', { workspace: 'W', reason: 'pause' })
    deepStrictEqual(await doer(kit, 'suspension_started', 'worker'), delegate)
    await kit.do('D', 'abort', { workspace: 'W' })
    deepStrictEqual(await doer(kit, 'workspace_state_changed', 'worker'), delegate)
  },
)

scenario(
  'WX-005 an approved integration is not begun in the name of another than who asked',
  { level: 2, rules: ['W-HWY-07', 'W-WS-13'], run: { highway: only('integration') } },
  async kit => {
    await kit.user('uy', ['approve_integration'])
    await kit.delegate('D')
    await kit.worker('W', { owner: 'uy', parent: 'D' })
    await kit.final('W')
    await kit.emit('W', 'complete')
    kit.gate(await kit.call('D', 'begin_integration', { source: 'W' }))
    await kit.do('R', 'abort', { workspace: 'D' })
    await kit.mark()
    await kit.do('uy', 'answer_gate', { gate: 'G1', action: 'approve' })
    await kit.expectAdded([['gate_resolved', 'W', 'uy', { gate_id: 'G1', action: 'approve' }]])
    deepStrictEqual(await kit.state('W'), 'integrating')
  },
)

scenario(
  'WX-006 a checkpoint changes what the authority of its workspace contains, and nothing else',
  { level: 1, rules: ['W-WS-17', 'W-CP-04'] },
  async kit => {
    await kit.worker('W', { resources: ['src/**', 'README.md'] })
    await kit.worker('N', { resources: [] })
    await kit.mark()
    const refuse = async (name: string, files: readonly string[]) => {
      const payload = { content: 'part', files_changed: files }
      const draft = await kit.checkpointDraft(name, { payload })
      await kit.refuses('REJECTED', name, 'create_checkpoint', { ...draft }, 'permission_denied')
      await kit.expectAdded([noCheckpoint(name, 'permission_denied')])
    }
    await refuse('W', ['docs/a.md'])
    await refuse('W', ['src/a.ts', 'other'])
    await refuse('W', ['src/../other'])
    await refuse('N', ['src/a.ts'])
    deepStrictEqual((await kit.look('W')).register, [])
    const payload = { content: 'part', files_changed: ['src/deep/a.ts', 'README.md'] }
    await kit.checkpoint('K', 'W', { payload })
  },
)

scenario(
  'WX-007 a second runtime over the same trail is refused and changes nothing',
  { level: 1, rules: ['W-CONC-08'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const rival = await kit.faults.rival()
    deepStrictEqual(rival.ok ? 'started' : rival.refused, 'TRAIL_IN_USE')
    await kit.expectAdded([])
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    deepStrictEqual(await kit.state('W'), 'blocked')
  },
)

scenario(
  'WX-008 opening finds what a second runtime has written that knew nothing of the first',
  { level: 2, rules: ['W-CONC-08', 'W-REC-13'], sound: false },
  async kit => {
    await kit.worker('W')
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    const body = {
      workspace_id: kit.id('W'),
      from_state: 'active',
      to_state: 'suspended',
      trigger: 'suspended_by_coordinator',
      initiator: 'coordinator',
    }
    const stale = { workspace: kit.id('W'), actor: 'system', event_type: 'workspace_state_changed', body }
    await kit.mark()
    const { halted } = await kit.restart({
      meanwhile: async () => {
        const [entry] = await kit.faults.stored.append(kit.run, [stale])
        kit.name(String(entry), 'E')
      },
    })
    // It is told as one entry that cannot be true, or the run takes nothing any more.
    if (halted.length > 0) return
    await kit.expectAmong([['integrity_violation', null, 'protocol', { subject_id: 'E' }]])
    deepStrictEqual(await kit.state('W'), 'blocked')
  },
)

scenario(
  'WX-009 whoever tries to change what never changes is on record',
  { level: 2, rules: ['W-SEC-12', 'W-CP-06', 'W-TAX-06'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('X')
    await kit.checkpoint('K', 'W')
    await kit.mark()
    const changes = { status: 'final' }
    await kit.refuses('IMMUTABLE', 'W', 'change_checkpoint', { checkpoint: 'K', changes })
    // Who does not see it is not told that there is one.
    await kit.refuses('NOT_FOUND', 'X', 'change_checkpoint', { checkpoint: 'K', changes })
    await kit.refuses('IMMUTABLE', 'W', 'register_type', { registration: { kind: 'role', name: 'boss' } })
    await kit.expectAdded([
      denied('W', 'worker', 'set:checkpoint', 'frozen', { target: 'K' }),
      denied('X', 'worker', 'set:checkpoint', 'frozen', { target: 'K' }),
      denied('W', 'worker', 'set:taxonomy', 'frozen'),
    ])
  },
)

scenario(
  'WX-010 an agent that reaches for its mail while it is suspended is on record',
  { level: 1, rules: ['W-SEC-12', 'W-WS-21'] },
  async kit => {
    await kit.worker('W')
    await kit.send('E', 'R', 'W', 'feedback')
    await kit.settle()
    await kit.bring('W', 'suspended')
    await kit.mark()
    await kit.refuses('INVALID_STATE', 'W', 'consume_envelope')
    await kit.expectAdded([denied('W', 'worker', 'access:read', 'frozen', { target: 'W' })])
  },
)

scenario(
  'WX-011 a blocked delegate is refused its operations, and that is on record',
  { level: 2, rules: ['W-SEC-12', 'W-ROLE-04'] },
  async kit => {
    await deep(kit)
    await kit.bring('D', 'blocked')
    await kit.mark()
    await kit.refuses('INVALID_STATE', 'D', 'abort', { workspace: 'W' })
    await kit.refuses('INVALID_STATE', 'D', 'suspend', { workspace: 'W', reason: 'pause' })
    await kit.expectAdded([
      denied('D', 'worker', 'operation:abort', 'permission_denied', { target: 'W' }),
      denied('D', 'worker', 'operation:suspend', 'permission_denied', { target: 'W' }),
    ])
    deepStrictEqual(await kit.state('W'), 'active')
  },
)

scenario(
  'WX-012 the coordinator that answers a gate which waits for a person is on record',
  { level: 2, rules: ['W-SEC-12', 'W-HWY-10'], run: { highway: only('workspace_create') } },
  async kit => {
    kit.gate(await kit.call('R', 'create_workspace', { role: 'worker' }))
    await kit.mark()
    await kit.refuses('INVALID_STATE', 'R', 'answer_gate', { gate: 'G1', action: 'approve' })
    await kit.expectAdded([denied('R', 'system', 'operation:answer_gate', 'not_permitted', { target: 'G1' })])
  },
)
