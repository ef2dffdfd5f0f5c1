// Deployment models, confidentiality, and what proves that somebody did something (wacp-mechanisms 4).
import { deepStrictEqual, ok } from 'node:assert'
import { denied } from '../../entry-rows.ts'
import { only } from '../../gated.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'

scenario(
  'WM-058 a system starts only under a deployment model that it can keep, and says which',
  { level: 2, rules: ['W-SEC-13', 'W-SEC-16'], opened: false },
  async kit => {
    for (const deployment of ['zero-trust', 'mesh']) {
      const opened = await kit.open({ deployment })
      ok(!opened.ok, `A system without encryption at rest started as ${deployment}`)
    }
    must(await kit.open({ deployment: 'single_runtime' }), 'Opening the system')
    await kit.user('ux')
    must(await kit.start(), 'Starting the run')
    await kit.expectAmong([['workspace_created', 'R', 'protocol', { deployment_model: 'single-runtime' }]])
  },
)

scenario(
  'WM-059 knowing an id opens nothing; a grant opens the checkpoint, and never what others write each other',
  { level: 2, rules: ['W-SEC-14', 'W-SEC-15'] },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.checkpoint('K', 'W2')
    await kit.send('E', 'W2', 'R', 'query')
    await kit.mark()
    const unread = denied('W1', 'worker', 'access:read')
    await kit.refuses('NOT_FOUND', 'W1', 'get_checkpoint', { checkpoint: 'K' })
    await kit.refuses('NOT_FOUND', 'W1', 'get_envelope', { envelope: 'E' })
    await kit.expectAdded([unread, unread])
    await kit.do('R', 'grant_visibility', { workspace: 'W1', target: 'W2', reason: 'review' })
    await kit.expectAdded([
      ['visibility_granted', 'W1', 'system', { workspace_id: 'W1', target: 'W2', reason: 'review' }],
    ])
    const read = await kit.do('W1', 'get_checkpoint', { checkpoint: 'K' })
    deepStrictEqual((read.payload as { readonly content?: string }).content, 'part')
    await kit.refuses('NOT_FOUND', 'W1', 'get_envelope', { envelope: 'E' })
    await kit.expectAdded([unread])
    for (const party of ['W2', 'R'])
      deepStrictEqual((await kit.do(party, 'get_envelope', { envelope: 'E' })).payload?.content, 'text', party)
  },
)

scenario(
  'WM-060 a checkpoint and a decision of a finished, signed run are proven from the person to the signature',
  {
    level: 3,
    rules: ['W-SEC-17', 'W-SEC-18'],
    setup: { signing: true },
    run: { highway: only('integration') },
  },
  async kit => {
    await kit.user('ux', ['approve_integration'])
    await kit.inState('W', 'integrating')
    kit.gate(await kit.call('R', 'begin_integration', { source: 'W' }))
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'approve' })
    await kit.do('R', 'decide_integration', { source: 'W', decision: 'accept' })
    await kit.do('runtime', 'close_run')
    const entries = await kit.entries()
    for (const type of ['checkpoint_created', 'gate_resolved']) {
      const entry = entries.find(each => each.event_type === type)
      ok(entry?.integrity?.signature, `${type} is signed`)
      const proof = await kit.do('runtime', 'proof_report', { entry: entry.id })
      const { identity, message, actor, chain, signature } = proof
      deepStrictEqual(
        { identity, message, actor, chain, signature },
        { identity: true, message: true, actor: true, chain: true, signature: true },
        type,
      )
    }
    await kit.refuses('NOT_FOUND', 'runtime', 'proof_report', { entry: 'no such entry' })
  },
)
