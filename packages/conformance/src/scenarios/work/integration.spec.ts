// Integration: the normal course, strategies, altered work, salvage (wacp-mechanisms 6).
import { deepStrictEqual } from 'node:assert'
import { denied, emit, SC, taskStatus } from '../../entry-rows.ts'
import type { StoredRecord } from '../../faults.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-081 finished work is merged, its workspace closed and its task integrated',
  {
    level: 1,
    rules: ['W-INT-01', 'W-INT-02', 'W-INT-03', 'W-INT-10', 'W-INT-15', 'W-INT-16', 'W-INT-17'],
  },
  async kit => {
    await kit.graph({ T: {} })
    await kit.bound('W', 'T')
    await kit.bring('W', 'integrating')
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'W', 'begin_integration', { source: 'W' })
    await kit.expectAdded([denied('W', 'worker', 'operation:integrate')])
    await kit.do('R', 'begin_integration', { source: 'W', strategy: 'direct' })
    await kit.do('R', 'decide_integration', { source: 'W', decision: 'accept' })
    await kit.expectAdded([
      emit('integrate', 'R', 'system', { ref: 'W' }),
      [
        'integration_started',
        'W',
        'system',
        { source: 'W', target: 'R', owner: 'ux', mode: 'normal', strategy: 'direct', checkpoint_ref: 'KW' },
      ],
      ['integration_completed', 'W', 'system', { source: 'W', target: 'R', result: 'success' }],
      SC('W', 'integrating', 'closed', 'integration_succeeded', { actor: 'system' }),
      taskStatus('T', 'completed', 'integrated'),
    ])
  },
)

scenario(
  'WM-083 work on the same file is overwritten by direct, and conflicts under layered',
  { level: 2, rules: ['W-INT-06', 'W-INT-07', 'W-INT-11'] },
  async kit => {
    await kit.completed({ A: ['f'], B: ['f'], C: ['f'] })
    await kit.do('R', 'decide_integration', { source: 'A', decision: 'accept', strategy: 'direct' })
    await kit.do('R', 'decide_integration', { source: 'B', decision: 'accept', strategy: 'direct' })
    await kit.expectNone('conflict_detected')
    deepStrictEqual([await kit.state('A'), await kit.state('B')], ['closed', 'closed'])
    await kit.do('R', 'decide_integration', { source: 'C', decision: 'accept', strategy: 'layered' })
    await kit.expectAmong([
      ['conflict_detected', 'C', 'protocol', { workspace_id: 'C', conflict_type: 'content_overlap', resources: ['f'] }],
      ['workspace_state_changed', 'C', '*', { from_state: 'integrating', to_state: 'conflicted' }],
    ])
  },
)

scenario(
  'WM-056 a final checkpoint that was altered in the store is never merged and never shown',
  { level: 2, rules: ['W-SEC-09', 'W-INT-05'] },
  async kit => {
    await kit.inState('W', 'integrating')
    const altered = (record: StoredRecord): StoredRecord =>
      record.kind === 'object' && record.id === kit.id('KW')
        ? { ...record, value: JSON.parse(JSON.stringify(record.value).replace('"done"', '"nice"')) }
        : record
    await kit.restart({
      meanwhile: () => kit.faults.stored.rewrite(kit.run, records => records.map(altered)),
    })
    await kit.mark()
    await kit.refuses('REJECTED', 'R', 'begin_integration', { source: 'W' }, 'integrity_violation')
    await kit.expectAmong([
      ['integration_started', 'W', 'system', { source: 'W', checkpoint_ref: 'KW' }],
      [
        'integrity_violation',
        null,
        'protocol',
        { subject_type: 'checkpoint', subject_id: 'KW', violation: 'hash_mismatch', action_taken: 'flagged' },
      ],
      ['integration_aborted', 'W', 'protocol', { source: 'W', reason: 'integrity_violation' }],
      SC('W', 'integrating', 'failed', 'integration_error'),
    ])
    await kit.refuses('REJECTED', 'R', 'get_checkpoint', { checkpoint: 'KW' }, 'integrity_violation')
  },
)

scenario(
  'WM-088 what a failed workspace left is salvaged by evaluation only, as of low confidence, without touching it',
  { level: 3, rules: ['W-INT-18', 'W-INT-19', 'W-INT-20', 'W-INT-21'] },
  async kit => {
    await kit.worker('W')
    await kit.checkpoint('K1', 'W', { status: 'final', confidence: 'high' })
    await kit.checkpoint('K2', 'W')
    await kit.bring('W', 'failed')
    await kit.inState('N', 'failed')
    const before = await kit.look('W')
    await kit.refuses(
      'INVALID_STATE',
      'R',
      'begin_salvage',
      { source: 'W', strategy: 'direct' },
      'strategy_not_available',
    )
    await kit.refuses(
      'INVALID_STATE',
      'R',
      'begin_salvage',
      { source: 'N', strategy: 'evaluated' },
      'nothing_to_salvage',
    )
    await kit.expectAdded([])
    const about = { source: 'W', target: 'R', mode: 'salvage' }
    await kit.do('R', 'begin_salvage', { source: 'W', strategy: 'evaluated' })
    const seen = await kit.do('runtime', 'get_integration', { source: 'W' })
    deepStrictEqual([seen?.mode, seen?.confidence, seen?.checkpoint_ref], ['salvage', 'low', kit.id('K1')])
    await kit.do('R', 'decide_salvage', { source: 'W', decision: 'accept' })
    await kit.expectAmong([
      ['integration_started', 'R', 'system', { ...about, strategy: 'evaluated', checkpoint_ref: 'K1' }],
      ['integration_completed', 'R', 'system', { ...about, result: 'success' }],
    ])
    await kit.do('R', 'begin_salvage', { source: 'W', strategy: 'evaluated' })
    await kit.do('R', 'decide_salvage', { source: 'W', decision: 'not_usable' })
    await kit.expectAmong([['integration_aborted', 'R', 'system', { ...about, reason: 'not_usable' }]])
    deepStrictEqual(await kit.look('W'), before)
  },
)
