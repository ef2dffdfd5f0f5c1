// Rules about whose act an entry records, and how to break each.
import type { Mutant } from './mutant.ts'

export const ACTING: readonly Mutant[] = [
  {
    id: 'WX-043',
    rule: 'what the coordinator decides at a gate is its own act',
    file: 'highway/resolve.ts',
    find: "actor: actorOf(caller), reason: 'coordinator_decision'",
    replace: "actor: 'fallback', reason: 'coordinator_decision'",
  },
  {
    id: 'WX-043-rejected',
    rule: 'work that the coordinator rejects at a gate failed by the coordinator, not by a person',
    file: 'integration/conflict.ts',
    find: "if (actor === 'system') return byOperation(trigger, rootOf(batch.run))",
    replace: "if (actor === '') return byOperation(trigger, rootOf(batch.run))",
    tests: 'integrity/identity.test.ts',
  },
  {
    id: 'WX-044',
    rule: 'what does not reach a person is no act of that person',
    file: 'highway/escalation.ts',
    find: "batch.add('capability_denied', null, 'protocol', {",
    replace: "batch.add('capability_denied', null, user, {",
  },
  {
    id: 'WX-045',
    rule: 'work that a person sends back at the gate failed by that person',
    file: 'integration/conflict.ts',
    find: "if (verdict === 'modify' && settled.strategy === 'agent_rework') {",
    replace: "if (verdict === 'modify' && settled.strategy === 'escalate') {",
    tests: 'integration/conflict.test.ts',
  },
  {
    id: 'WX-045-salvage',
    rule: 'a salvage that a person gives up at the gate was given up by that person',
    file: 'integration/salvage-conflict.ts',
    find: "{ by: verdict === 'modify' ? actor : actorOf(salvage.target) }",
    replace: '{ by: actorOf(salvage.target) }',
    tests: 'integrity/identity.test.ts',
  },
  {
    id: 'WX-046',
    rule: 'the gates of a salvage say that they are',
    file: 'highway/gate.ts',
    find: "'mode' in paused && paused.mode === 'salvage' ? { mode: paused.mode } : {}",
    replace: "'mode' in paused && paused.mode === undefined ? { mode: 'salvage' } : {}",
    tests: 'integrity/identity.test.ts',
  },
]
