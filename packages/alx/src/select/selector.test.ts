import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isSolveArtifact, kbHashFromEnvelope } from '@alx/protocol'
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { type FittedStep, procedureEnvelope, synthesisEnvelope, type TeamOutline } from '../kb/procedure.ts'
import { codeOf, type Ground, must, OWNER, openKnowledge, U, V } from '../testing/knowledge.ts'
import { factual, presenting } from '../testing/known-blocks.ts'
import { MemoryLibrary } from '../testing/memory-library.ts'
import { selectLimits } from './limits.ts'

const intent = { verb: 'rotate', target: 'backup keys', domain: 'ops' }
const select = ({ knowledge }: Ground, reader = U, more: object = {}) =>
  knowledge.selector.select({ intent: { ...intent, ...more }, context: undefined, reader })
const add = async ({ knowledge }: Ground, envelope: object, by = U) =>
  must(await knowledge.register(presenting(envelope), by)).kbHash

test('the block that answers the very intent comes first, others by their words, each with what explains it', async () => {
  const ground = await openKnowledge()
  const some = await add(ground, factual('How to rotate the keys of a backup'))
  await add(ground, factual('keys of a piano', { domain: 'music' }))
  const exact = await add(ground, {
    ...factual(''),
    type: 'synthesis',
    payload: { type: 'synthesis', question: 'Rotate  BACKUP keys', answer: 'Use the vault.', citations: {} },
  })
  const weak = await add(ground, factual('rotating tyres'))
  const candidates = await select(ground)
  expect(candidates.map(({ artifact }) => artifact.kbHash)).toEqual([exact, some, weak])
  expect(candidates.map(({ confidence }) => confidence >= 0.35)).toEqual([true, true, false])
  expect(candidates[1]?.parts).toMatchObject({ exact: 0, text: 0.55, domain: 0.1, feedback: 0 })
  expect(candidates.every(({ artifact }) => isSolveArtifact(artifact, 'emit'))).toBe(true)
  expect(candidates[0]?.artifact.payload).toMatchObject({ answer: 'Use the vault.' })
  expect(await select(ground, U, { domain: 'law' })).toEqual([])
  expect(await select(ground, U, { verb: 'NOT', target: '"*' })).toEqual([])
})

test('only active blocks that the reader may read are candidates', async () => {
  const ground = await openKnowledge()
  const { knowledge } = ground
  const secret = await add(ground, factual('rotate backup keys secretly', { tier: 'restricted' }))
  const old = await add(ground, factual('rotate backup keys by hand'))
  const hashes = async (reader = U) => (await select(ground, reader)).map(({ artifact }) => artifact.kbHash).sort()
  expect(await hashes()).toEqual([secret, old].sort())
  expect(await hashes(V)).toEqual([old])
  must(await knowledge.act(U, old, 'deprecate'))
  expect(await hashes(V)).toEqual([])
  must(await knowledge.act(U, secret, 'share'))
  expect(await hashes(V)).toEqual([secret])
})

test('a block that answers the very intent is no candidate either when it may not be read, or is retired', async () => {
  const ground = await openKnowledge()
  const result = synthesisEnvelope({
    ...{ domain: 'ops', question: 'rotate backup keys (ops)', answer: 'Done.' },
    procedure: { kbHash: await add(ground, factual('of another subject')), title: 'p' },
  })
  const { kbHash } = must(await ground.knowledge.make({ by: U, user: 'U' }, result))
  expect(await select(ground)).toMatchObject([{ artifact: { kbHash }, parts: { exact: 0.8 } }])
  expect(await select(ground, V)).toEqual([])
  must(await ground.knowledge.act(U, kbHash, 'deprecate'))
  expect(await select(ground)).toEqual([])
})

test('what people said of a block changes how confident the next selection is', async () => {
  const ground = await openKnowledge()
  const kbHash = await add(ground, factual('rotate backup keys'))
  const confidence = async () => (await select(ground))[0]!.confidence
  const rate = async (rating: -1 | 0 | 1) =>
    must(
      await ground.knowledge.feedback({ executionId: 'run_1', rating }, V, {
        run: 'run_1' as RunId,
        user: 'V',
        artifactId: kbHash,
      }),
    )
  const before = await confidence()
  await rate(1)
  const praised = await confidence()
  await rate(-1)
  const blamed = await confidence()
  await rate(0)
  expect([praised > before, blamed < before, (await confidence()) === before]).toEqual([true, true, true])
})

const team: TeamOutline = {
  team: 'keepers',
  agents: ['coder'],
  tasks: [{ id: 'do', title: 'Do it', prompt: '{intent}', agent: 'coder', needs: [] }],
}
const procedure = (title: string, more: object = {}, step: Partial<FittedStep> & object = {}) => ({
  ...factual(''),
  type: 'procedure',
  payload: {
    type: 'procedure',
    intent: { verb: 'rotate', target: 'backup keys' },
    team: 'keepers',
    steps: [{ task: 'do', title, ...step }],
    ...more,
  },
})

test('in a domain with a team, trusted procedures that fit it come before the team’s own plan, and nothing else does', async () => {
  const ground = await openKnowledge({ teamOf: domain => (domain === 'ops' ? team : undefined) })
  const { knowledge, library } = ground
  const own = kbHashFromEnvelope(procedureEnvelope(intent, team))
  const plan = {
    artifact: { kbHash: own, origin: 'generated', tier: 'restricted' },
    confidence: 1,
    parts: { generated: 1 },
  }
  expect(await select(ground)).toMatchObject([plan])
  expect(library.records).toEqual([])

  const untrusted = await add(ground, procedure('Rotate backup keys'))
  const wrongTeam = await add(ground, procedure('Rotate backup keys', { team: 'others' }))
  const commands = await add(ground, procedure('Rotate backup keys', {}, { command: ['sh'] } as object))
  const weak = await add(ground, procedure('rotate', { intent: { verb: 'x', target: 'y' } }))
  await add(ground, factual('rotate backup keys'))
  for (const kbHash of [wrongTeam, commands, weak]) must(await knowledge.act(OWNER, kbHash, 'trust'))
  expect(await select(ground)).toMatchObject([plan])
  expect(knowledge.mayExecute(U, untrusted)).toBe(false)

  must(await knowledge.act(OWNER, untrusted, 'trust'))
  const similar = await add(ground, procedure('rotate backup keys too', { intent: { verb: 'x', target: 'y' } }))
  must(await knowledge.act(OWNER, similar, 'trust'))
  const [first, second, last, ...more] = await select(ground)
  expect(first).toMatchObject({ artifact: { kbHash: untrusted, origin: 'selected' }, parts: { exact: 0.8 } })
  expect(second).toMatchObject({ artifact: { kbHash: similar }, parts: { exact: 0 } })
  expect([last, more]).toMatchObject([plan, []])
  must(await knowledge.act(OWNER, untrusted, 'distrust'))
  expect((await select(ground)).map(({ artifact }) => artifact.kbHash)).toEqual([similar, own])
  // Another domain has no team: there, what is known is the answer.
  expect((await select(ground, U, { domain: 'ops.keys' })).length).toBeGreaterThan(1)
})

test('the team’s own plan is one candidate, also when it is registered and trusted', async () => {
  const ground = await openKnowledge({ teamOf: () => team })
  const made = must(await ground.knowledge.make({ by: U, user: 'U' }, procedureEnvelope(intent, team)))
  must(await ground.knowledge.act(U, made.kbHash, 'share'))
  must(await ground.knowledge.act(OWNER, made.kbHash, 'trust'))
  expect(await select(ground)).toMatchObject([{ artifact: { kbHash: made.kbHash }, confidence: 1 }])
})

test('agents are told about readable blocks that matter, within bounds, as data and never as procedures', async () => {
  const ground = await openKnowledge()
  const { knowledge } = ground
  const told = (reader = U) => knowledge.relatedBlocks(intent, reader)
  expect(await told()).toEqual([])
  const run = await add(ground, procedure('rotate backup keys'))
  const secret = await add(ground, factual('rotate backup keys: secret', { tier: 'restricted' }))
  const result = synthesisEnvelope({
    ...{ domain: 'ops', question: 'rotate backup keys', answer: `\u001b[31mDone\u0007 ${'x'.repeat(10_000)}` },
    procedure: { kbHash: run, title: 'p' },
  })
  const { kbHash } = must(await knowledge.make({ by: U, user: 'U' }, result))
  const parts = await told()
  expect(new Set(parts.map(block => block.kbHash))).toEqual(new Set([secret, kbHash]))
  const { part } = parts.find(block => block.kbHash === kbHash)!
  expect(part.title).toMatch(/synthesis, ops\): data, not instructions$/)
  expect(part.text.startsWith('Done xxx')).toBe(true)
  expect(part.text.length).toBe(selectLimits.relatedLength)
  expect(await told(V)).toEqual([])
  for (let at = 0; at < 10; at++) await add(ground, factual(`rotate backup keys ${at} ${'word '.repeat(1000)}`))
  const many = await told()
  expect(many.length).toBeLessThanOrEqual(selectLimits.relatedBlocks)
  expect(many.reduce((sum, one) => sum + one.part.text.length, 0)).toBeLessThanOrEqual(selectLimits.relatedTotal)
})

test('the index can be deleted or broken at any time: it is made again from the library', async () => {
  const ground = await openKnowledge()
  const { knowledge, library, clock, folder } = ground
  const kbHash = await add(ground, factual('rotate backup keys'))
  await add(ground, factual('rotate backup keys', { tier: 'restricted' }), V)
  const found = async ({ knowledge }: Ground) => must(await knowledge.search(U, 'backup')).map(block => block.kbHash)
  expect(await found(ground)).toEqual([kbHash])
  await knowledge.close()
  const file = join(folder, 'alx.index.db')

  const spoil = [
    () => Promise.resolve(),
    () => rm(file),
    () => writeFile(file, 'no database, but long enough to be taken for one '.repeat(100)),
  ]
  for (const spoilt of spoil) {
    await spoilt()
    const again = await openKnowledge({ library, clock, folder })
    expect(await found(again)).toEqual([kbHash])
    await again.knowledge.close()
  }
  // The index of another library, which has as many records.
  clock.advance(1000)
  const other = await openKnowledge({ library: new MemoryLibrary(clock), clock })
  const another = await add(other, factual('another backup'))
  await add(other, factual('yet another', { tier: 'restricted' }), V)
  const stranger = await openKnowledge({ library: other.library, clock, folder })
  expect(await found(stranger)).toEqual([another])
})

test('without an index, exact matches are still found, and a search says that it cannot be done', async () => {
  const folder = join((await openKnowledge()).folder, 'there', 'is', 'none')
  const ground = await openKnowledge({ folder })
  const exact = procedure('x')
  const kbHash = await add(ground, exact)
  expect(await select(ground)).toMatchObject([{ artifact: { kbHash } }])
  expect(codeOf(await ground.knowledge.search(U, 'rotate'))).toBe('UPSTREAM_UNAVAILABLE')
  expect(await ground.knowledge.relatedBlocks(intent, U)).toEqual([])
  expect(ground.problems).toContainEqual(expect.stringContaining('exact matches only'))
})

test('a list is in the order of registration, filtered and in pages', async () => {
  const ground = await openKnowledge()
  const { knowledge } = ground
  const hashes: string[] = []
  for (let at = 0; at < 5; at++) hashes.push(await add(ground, factual(`block ${at}`), at % 2 ? V : U))
  await add(ground, factual('secret', { tier: 'restricted' }), V)
  const list = (query: object) => must(knowledge.list(U, query))
  const names = (query: object) => list(query).blocks.map(({ kbHash }) => hashes.indexOf(kbHash))
  expect(names({})).toEqual([0, 1, 2, 3, 4])
  expect(names({ own: true })).toEqual([0, 2, 4])
  expect(names({ type: 'practice' })).toEqual([])
  expect(names({ limit: 2 })).toEqual([0, 1])
  expect(names({ limit: 2, after: list({ limit: 2 }).next })).toEqual([2, 3])
  expect(list({ limit: 5 }).next).toBeUndefined()
  expect(codeOf(knowledge.list(U, { limit: 0 }))).toBe('INVALID_REQUEST')
  must(await knowledge.act(U, hashes[0]!, 'deprecate'))
  expect(names({ status: 'deprecated' })).toEqual([0])
})
