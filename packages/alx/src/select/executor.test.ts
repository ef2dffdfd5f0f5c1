import { expect, test } from 'vitest'
import { procedureEnvelope, type TeamOutline } from '../kb/procedure.ts'
import { codeOf, must, OWNER, openKnowledge, U } from '../testing/knowledge.ts'
import { factual, presenting } from '../testing/known-blocks.ts'

const team: TeamOutline = {
  team: 'keepers',
  agents: ['coder'],
  tasks: [
    { id: 'draft', title: 'Draft', agent: 'coder', needs: [] },
    { id: 'ship', title: 'Ship', agent: 'coder', needs: ['draft'], approve: true },
  ],
  timeoutMs: 60_000,
}
const request = { intent: { verb: 'rotate', target: 'keys', domain: 'ops' }, context: undefined, reader: U }

test('in a domain without a team the content of the block is the result', async () => {
  const { knowledge } = await openKnowledge()
  const { kbHash } = must(await knowledge.register(presenting(factual('Use the vault.')), U))
  const artifact = must(await knowledge.artifact(U, kbHash, 'selected'))
  expect(await knowledge.executor.plan(artifact, request)).toEqual({
    ok: true,
    value: { kind: 'none', result: 'text: Use the vault.' },
  })
})

test('a team’s own plan has its steps, its approvals and what is known around it', async () => {
  const { knowledge } = await openKnowledge({ teamOf: () => team })
  must(await knowledge.register(presenting(factual('rotate keys in the vault')), U))
  const [own] = await knowledge.selector.select(request)
  expect(await knowledge.executor.plan(own!.artifact, request)).toMatchObject({
    value: {
      kind: 'steps',
      timeoutMs: 60_000,
      steps: [
        { id: 'draft', name: 'Draft' },
        { id: 'ship', name: 'Ship', approve: true },
      ],
      told: [{ part: { kind: 'knowledge_block', text: 'text: rotate keys in the vault' } }],
    },
  })
})

test('ALX-RUN-03 a procedure keeps the approvals of the team, may skip what is optional, and is refused once nobody trusts it', async () => {
  const { knowledge } = await openKnowledge({ teamOf: () => team })
  const { payload, ...envelope } = procedureEnvelope(request.intent, team)
  const steps = [
    { task: 'lint', title: 'Lint', optional: true },
    { task: 'ship', title: 'Just ship', prompt: 'Ship it' },
  ]
  const written = { ...envelope, tier: 'open', payload: { ...payload, steps } }
  const { kbHash } = must(await knowledge.register(presenting(written), U))
  const artifact = must(await knowledge.artifact(U, kbHash, 'selected'))
  const plan = () => knowledge.executor.plan(artifact, request)
  expect(codeOf(await plan())).toBe('unknown_team')
  must(await knowledge.act(OWNER, kbHash, 'trust'))
  expect(await plan()).toMatchObject({
    value: {
      steps: [
        { id: 'lint', skipped: 'the team keepers has no task lint' },
        { id: 'ship', name: 'Just ship', approve: true },
      ],
    },
  })
  must(await knowledge.act(OWNER, kbHash, 'slash'))
  expect(codeOf(await plan())).toBe('unknown_team')
})
