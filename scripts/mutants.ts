// Rules of the kernel and how to break each: one place in one file, and what stands there instead.

export interface Mutant {
  readonly id: string
  /** The rule that no longer holds. */
  readonly rule: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

export const MUTANTS: readonly Mutant[] = [
  {
    id: 'W-LIFE-04',
    rule: 'a blocked agent creates no checkpoints',
    file: 'lifecycle/states.ts',
    find: 'sends: true,\n    checkpoints: false,',
    replace: 'sends: true,\n    checkpoints: true,',
  },
  {
    id: 'W-LIFE-06',
    rule: 'who can be sent mail leaves idle only with the first envelope',
    file: 'signal/decide.ts',
    find: '!isRoot(from) &&',
    replace: 'false &&',
  },
  {
    id: 'W-SIG-05',
    rule: 'a paused workspace says nothing',
    file: 'signal/decide.ts',
    find: "STATE_RULES[caller.status].signals === 'refused'",
    replace: 'false',
  },
  {
    id: 'W-SIG-08',
    rule: 'receipts go to the sender, not to the parent',
    file: 'envelope/deliver.ts',
    find: 'to: sender === receiver ? undefined : sender,',
    replace: 'to: receiver.parent ?? undefined,',
  },
  {
    id: 'W-ROLE-06',
    rule: 'the permission matrix decides who sends what to whom',
    file: 'envelope/send.ts',
    find: '!maySend(run.vocabulary, sender, draft.type, receiver, relationOf(sender, receiver))',
    replace: 'false',
  },
  {
    id: 'W-PORT-07',
    rule: 'a send_once is used up by an accepted envelope',
    file: 'envelope/send.ts',
    find: "if (right.type !== 'send_once') return",
    replace: 'if (right.id) return',
  },
  {
    id: 'W-PORT-06',
    rule: 'a right that was handed on leaves its old holder',
    file: 'port-right/evolve.ts',
    find: '    const right = rightOf(run, body.right_id)\n    take(right)\n    right.holder',
    replace: '    const right = rightOf(run, body.right_id)\n    right.holder',
  },
  {
    id: 'W-ENV-10',
    rule: 'the head of a channel comes first',
    file: 'envelope/deliver.ts',
    find: '.incoming?.get(from)?.[0]',
    replace: '.incoming?.get(from)?.at(-1)',
  },
  {
    id: 'W-ENV-16',
    rule: 'an envelope that arrives twice is placed once',
    file: 'envelope/deliver.ts',
    find: "envelope.status === 'delivered' || envelope.status === 'acknowledged'",
    replace: 'false',
  },
  {
    id: 'W-ENV-14',
    rule: 'three redeliveries, then the envelope is given up',
    file: 'runtime/courier.ts',
    find: 'const REDELIVERIES = 3',
    replace: 'const REDELIVERIES = 2',
  },
  {
    id: 'W-ENV-18',
    rule: 'mail for a workspace that failed is undeliverable',
    file: 'workspace/failure.ts',
    find: "for (const each of [workspace, ...cascaded]) writeUndeliverable(batch, each, 'failed')",
    replace: '',
  },
  {
    id: 'W-WS-21',
    rule: 'urgent mail is consumed before normal mail',
    file: 'envelope/inbox.ts',
    find: 'ENVELOPE_PRIORITIES.toReversed()',
    replace: 'ENVELOPE_PRIORITIES',
  },
  {
    id: 'W-CP-04',
    rule: 'a checkpoint names the head of its chain',
    file: 'checkpoint/decide.ts',
    find: '(draft.parent ?? null) !== head',
    replace: 'false',
  },
  {
    id: 'W-CP-08',
    rule: 'the deliverable is the newest final checkpoint',
    file: 'checkpoint/evolve.ts',
    find: "if (body.status === 'final') workspace.deliverable = id",
    replace: 'workspace.deliverable = id',
  },
  {
    id: 'W-CP-12',
    rule: 'the runtime signals each checkpoint on its own account',
    file: 'checkpoint/decide.ts',
    find: "type: 'checkpoint', ref: id, actor: 'protocol'",
    replace: "type: 'checkpoint', ref: id, actor: actorOf(caller)",
  },
  {
    id: 'W-WS-12',
    rule: 'children fall with their parent',
    file: 'workspace/failure.ts',
    find: 'for (const child of openChildren(parent)) {',
    replace: 'for (const child of openChildren(parent).slice(1)) {',
  },
  {
    id: 'W-TOPO-TREE-06',
    rule: "the root's entry is the last of the run",
    file: 'workspace/failure.ts',
    find: '  writeFailed(batch, root, failure)\n  return signal',
    replace: '  return signal',
  },
  {
    id: 'W-WS-14',
    rule: 'nothing closes above a child at work',
    file: 'integration/decide.ts',
    find: 'const [child] = openChildren(source)',
    replace: 'const [child] = openChildren(source).slice(0, 0)',
  },
  {
    id: 'W-INT-08',
    rule: 'one integration at a time into a target',
    file: 'integration/decide.ts',
    find: 'target.merging && target.merging !== source.value',
    replace: 'false',
  },
  {
    id: 'W-INT-04',
    rule: 'without a final checkpoint nothing is integrated',
    file: 'integration/decide.ts',
    find: 'if (!source.value.deliverable)',
    replace: 'if (false as boolean)',
  },
  {
    id: 'W-TASK-08',
    rule: 'a task is ready when all it depends on is completed',
    file: 'task/graph.ts',
    find: 'return task.dependsOn.every(',
    replace: 'return task.dependsOn.length === 0 || task.dependsOn.some(',
  },
  {
    id: 'W-TASK-13',
    rule: 'the abort behind a cancelled task does not fail the task',
    file: 'task/decide.ts',
    find: 'sparesTask: true',
    replace: 'sparesTask: false',
  },
  {
    id: 'W-LIFE-11',
    rule: 'a resumed workspace returns to where it was',
    file: 'workspace/evolve.ts',
    find: 'paused ? (body.from_state as ResumableState)',
    replace: "paused ? ('active' as ResumableState)",
  },
  {
    id: 'W-CONC-02',
    rule: 'an abort overtakes what waits',
    file: 'command.ts',
    find: "    case 'abort':\n    case 'stop':\n      return PRECEDENCE.abort",
    replace: "    case 'abort':\n    case 'stop':\n      return PRECEDENCE.other",
  },
  {
    id: 'W-ROLE-13',
    rule: "the coordinator's acts are the system's",
    file: 'batch.ts',
    find: "return isRoot(workspace) ? 'system' : workspace.role",
    replace: 'return workspace.role',
  },
]
