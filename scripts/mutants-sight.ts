// Rules on ceilings, sight and consent, and how to break each.
import type { Mutant } from './mutants.ts'

export const SIGHT: readonly Mutant[] = [
  {
    id: 'WX-061',
    rule: 'a delegate cites directives that reached it',
    file: 'highway/inject.ts',
    find: '(isRoot(creator) || to === creator.id)',
    replace: '(isRoot(creator) || to.length > 0)',
    tests: 'user/causation.test.ts',
  },
  {
    id: 'WX-061-directive',
    rule: 'nothing but a directive asks for work',
    file: 'highway/inject.ts',
    find: "origin === 'human' && type === 'directive'",
    replace: "origin === 'human' && type !== ''",
    tests: 'user/causation.test.ts',
  },
  {
    id: 'WX-062',
    rule: 'no grace runs before the agent was told',
    file: 'envelope/evolve.ts',
    find: '    tellTermination(receiver, envelope.type, envelope.id)\n',
    replace:
      '    tellTermination(receiver, envelope.type, envelope.id)\n    startTermination(receiver, envelope.id, (Date.parse(record.timestamp) * 1000) as never)\n',
    tests: 'workspace/terminate.test.ts',
  },
  {
    id: 'WX-062-lost',
    rule: 'a request whose mail cannot arrive has failed',
    file: 'envelope/evolve.ts',
    find: '    loseTermination(knownWorkspace(run, envelope.to), envelope.id)\n',
    replace: '',
    tests: 'workspace/terminate.test.ts',
  },
  {
    id: 'WX-063',
    rule: 'where an abort waits for consent, the request to wind down waits too',
    file: 'workspace/terminate.ts',
    find: '  if (!passed) {',
    replace: '  if (passed === undefined) {',
    tests: 'workspace/terminate.test.ts',
  },
  {
    id: 'WX-064',
    rule: 'no row of a taxonomy names an observer',
    file: 'taxonomy/checks.ts',
    find: '      [sender_role, receiver_role]\n        .filter',
    replace: '      [sender_role]\n        .filter',
  },
  {
    id: 'WX-064-recorded',
    rule: 'a run on record keeps the vocabulary that it began with',
    file: 'taxonomy/taxonomy.ts',
    find: 'return checked(document, recordedFaultsOf)',
    replace: 'return checked(document, faultsOf)',
  },
  {
    id: 'WX-065',
    rule: 'a delegate reads what it gave its descendants',
    file: 'workspace/access.ts',
    find: 'target === caller || isAbove(caller, target)',
    replace: 'target === caller || isRoot(caller)',
    tests: 'runtime/reads.test.ts',
  },
  {
    id: 'WX-066',
    rule: 'what a merge made of its target is for those who see the target',
    file: 'workspace/access.ts',
    find: "return sees(caller, target) ? ok(undefined) : denied()\n    }\n    case 'checkpoint'",
    replace: "return sees(caller, source) ? ok(undefined) : denied()\n    }\n    case 'checkpoint'",
    tests: 'runtime/reads.test.ts',
  },
  {
    id: 'WX-067',
    rule: 'an unanswered question fails nobody who has completed or is paused',
    file: 'highway/escalation.ts',
    find: "fallback === 'reject' && AT_WORK.includes(workspace.status)",
    replace: "fallback === 'reject' && AT_WORK.length > 0",
    tests: 'highway/escalation.test.ts',
  },
]
