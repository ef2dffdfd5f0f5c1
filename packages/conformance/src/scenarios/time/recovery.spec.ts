// Recovery: what cannot be true is set aside, and a recovery that dies is made again (wacp-mechanisms 3).
import { deepStrictEqual } from 'node:assert'
import type { ForeignEntry } from '../../faults.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-040 entries that cannot be true are set aside once, and everything else goes on',
  { level: 3, rules: ['W-REC-12', 'W-REC-13'], sound: false },
  async kit => {
    await kit.worker('V')
    await kit.inState('W', 'failed')
    await kit.mark()
    const [V, W] = [kit.id('V'), kit.id('W')]
    const early: ForeignEntry = {
      workspace: V,
      actor: 'protocol',
      event_type: 'workspace_state_changed',
      body: {
        workspace_id: V,
        from_state: 'active',
        to_state: 'blocked',
        trigger: 'agent_blocked',
        initiator: 'worker',
      },
      timestamp: (await kit.entries())[0]!.timestamp,
    }
    const integrity = { proof: '00', algorithm: 'hmac-sha256' }
    const checkpoint = {
      checkpoint_id: 'k',
      workspace: W,
      type: 'artifact',
      status: 'final',
      confidence: 'low',
    }
    const late: ForeignEntry = {
      workspace: W,
      actor: 'worker',
      event_type: 'checkpoint_created',
      body: { ...checkpoint, parent: null, integrity },
    }
    await kit.restart({
      async meanwhile() {
        const [first, second] = await kit.faults.stored.append(kit.run, [early, late])
        kit.name(first!, 'early')
        kit.name(second!, 'late')
      },
    })
    const quarantined = (subject_id: string) =>
      ['integrity_violation', null, 'protocol', { subject_id, action_taken: 'quarantined' }] as const
    await kit.expectAmong([
      quarantined('early'),
      quarantined('late'),
      ['recovery_completed', null, 'protocol', { quarantined_entries: 2 }],
    ])
    deepStrictEqual([await kit.state('V'), (await kit.look('W')).register], ['active', []])
    await kit.restart()
    await kit.expectNone('integrity_violation')
  },
)

scenario(
  'WM-049 a recovery that dies after its first write ends where an undisturbed one does, with one marker',
  { level: 2, rules: ['W-REC-23'], opened: false },
  async kit => {
    const ends: unknown[] = []
    for (const appends of [undefined, 1]) {
      await kit.prepare({ level: 2, rules: [] })
      await kit.worker('W')
      await kit.worker('T', { timeout: 1000 })
      kit.faults.transport.rule(() => 'drop')
      await kit.send('E', 'R', 'W', 'directive')
      await kit.mark()
      if (appends !== undefined) kit.faults.recovery(appends)
      const meanwhile = () => kit.faults.transport.rule(() => 'pass')
      await kit.restart({ crash: true, outage: 5000, meanwhile })
      const types = (await kit.added()).map(({ event_type }) => event_type)
      ends.push({ types, states: [await kit.state('W'), await kit.state('T')], inbox: await kit.inbox('W') })
      deepStrictEqual(types.filter(type => type === 'recovery_completed').length, 1)
      deepStrictEqual(types.at(-1), 'recovery_completed')
    }
    deepStrictEqual(ends[1], ends[0])
    deepStrictEqual([await kit.state('T'), await kit.inbox('W')], ['failed', ['E']])
  },
)
