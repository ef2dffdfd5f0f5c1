// Opening a run from a state that was kept: the same as reading all of it, or refused.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ObjectId, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { TrailObject } from '../entry.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import { ed25519Signer } from '../signing.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { recordsOf } from '../testing/steps.ts'
import { replaced, tamper } from '../testing/tamper.ts'
import { type TestTrail, temporaryTrail } from '../testing/temporary.ts'
import type { TrailState } from './run-state.ts'
import type { RunTrail } from './run-trail.ts'

function note(script: ScriptedRun): TrailObject {
  return { id: script.id('obj') as ObjectId, kind: 'memory', value: { text: 'noted' } }
}

/** As if it had been written out and read back. */
function keptBy(run: RunTrail): TrailState {
  return structuredClone(run.state()!)
}

/** A run of many kinds of batch, and the states that could have been kept between them. */
async function history(): Promise<{ first: TestTrail; script: ScriptedRun; states: TrailState[] }> {
  const first = await temporaryTrail({ firstSegmentBytes: 16_384, segmentBytes: 16_384 })
  const script = await first.start()
  const states: TrailState[] = [keptBy(script.run)]
  const worker = await script.workspace()
  const steps = [
    () => script.state(worker, 'idle', 'active'),
    () => script.run.append({ entries: [], objects: [note(script)] }).then(unwrap),
    () => script.run.append({ entries: [], objects: [note(script), note(script)] }).then(unwrap),
    () => script.checkpoint(worker),
    () => script.appendWith([note(script)], script.entry('user_created', null, 'system')).then(unwrap),
    async () => {
      const other = await script.workspace({ parent: worker, visibility_set: [script.root] })
      await script.state(other, 'idle', 'failed')
    },
    () => script.envelope(script.root, worker, 'system'),
    () => script.run.append({ entries: [], objects: [note(script)] }).then(unwrap),
  ]
  for (const step of [...steps, ...steps.slice(1)]) {
    await step()
    states.push(keptBy(script.run))
  }
  return { first, script, states }
}

test('from every state that was kept a run goes on as if all of it had been read', async () => {
  const { first, script, states } = await history()
  const { trail } = await first.reopen()
  const id = script.run.id
  const all = await recordsOf(trail.run(id))
  const whole = keptBy(trail.run(id))
  expect(whole).toEqual(states.at(-1))
  let records = 0
  for (const state of states) {
    await trail.release(id)
    const run = trail.run(id)
    const kept = structuredClone(state)
    expect(await run.resume(kept)).toBe(true)
    const behind = await recordsOf(run, kept)
    expect(behind).toEqual(all.slice(all.length - behind.length))
    expect(behind.length).toBeLessThan(all.length - records)
    records = all.length - behind.length
    expect(run.state()).toEqual(whole)
  }
  // Chains and read model are the run's own again.
  const again = trail.run(id)
  const drafts = script.drafts([script.entry('user_created', null, 'system')])
  expect(unwrap(await again.append({ entries: drafts })).first).toBe(whole.chain.seq + 1)
  expect((await again.verify()).findings).toEqual([])
})

test('a run that is asked for something before it is replayed reads only what came later, too', async () => {
  const { first, script, states } = await history()
  const { trail } = await first.reopen()
  const run = trail.run(script.run.id)
  const kept = structuredClone(states[5]!)
  expect(await run.resume(kept)).toBe(true)
  expect(await run.head()).toEqual(await script.run.head())
  expect(run.state()).toEqual(states.at(-1))
  // Asked again while it is in memory, it has nothing to take up.
  expect(await run.resume(structuredClone(states[3]!))).toBe(true)
  expect(run.state()).toEqual(states.at(-1))
})

describe('a state is refused', () => {
  const none = { count: 0, loose: 0, last: undefined }

  test.each<readonly [string, Partial<TrailState['chain']>, Partial<TrailState['objects']>]>([
    ['that ends behind the log', { seq: 999 }, none],
    ['whose last entry is another one', { hash: '0'.repeat(64) }, {}],
    ['that knows of objects which the log has lost', {}, { loose: 2 }],
    ['whose newest object is another one', {}, { last: 'obj_other' as ObjectId }],
  ])('%s', async (_what, chain, objects) => {
    const { first, script, states } = await history()
    const { trail } = await first.reopen()
    const run = trail.run(script.run.id)
    const kept = structuredClone(states.at(-1)!)
    const changed = { ...kept, chain: { ...kept.chain, ...chain }, objects: { ...kept.objects, ...objects } }
    expect(await run.resume(changed)).toBe(false)
    // Nothing has changed: the run is read from its beginning.
    expect(await run.head()).toEqual(await script.run.head())
    expect(run.state()).toEqual(states.at(-1))
  })
})

test('a state is handed out only when nothing is on its way', async () => {
  const { first, script } = await history()
  const { trail } = await first.reopen()
  const run = trail.run(script.run.id)
  expect(run.state()).toBeUndefined()
  await run.head()
  const appended = run.append({ entries: script.drafts([script.entry('user_created', null, 'system')]) })
  expect(run.state()).toBeUndefined()
  const { last } = unwrap(await appended)
  expect(run.state()?.chain.seq).toBe(last)
})

test('replay tells of a broken chain where it is asked to', async () => {
  const { first, script } = await history()
  await first.trail.close()
  tamper(first.profile, records => records.filter(({ kind, seq }) => kind !== 'entry' || seq !== 6))
  const { trail } = await first.reopen()
  const run = trail.run(script.run.id)
  const sound = async () => {
    for await (const _record of run.replay({ sound: true }));
  }
  await expect(sound()).rejects.toMatchObject({ code: 'trail_damaged', details: { seq: 7 } })
  expect((await recordsOf(run)).length).toBeGreaterThan(10)
})

describe('verification behind a kept state', () => {
  test('looks at what came later, and not at segments before it', async () => {
    const { first, script, states } = await history()
    const worker = await script.workspace()
    for (let count = 0; count < 60; count++) await script.checkpoint(worker)
    const kept = keptBy(script.run)
    for (let count = 0; count < 5; count++) await script.checkpoint(worker)
    await first.trail.close()
    const folder = join(first.profile, 'trail')
    const segments = readdirSync(folder).filter(name => name.endsWith('.seg'))
    expect(segments.length).toBeGreaterThan(2)
    const oldest = join(folder, segments[0]!)
    const bytes = readFileSync(oldest)
    bytes[SEGMENT_HEADER + 200]! ^= 1
    writeFileSync(oldest, bytes)
    const { trail } = await first.reopen()
    const run = trail.run(script.run.id)
    expect((await run.verify()).findings).not.toEqual([])
    const report = await run.verify({ behind: kept.chain })
    expect(report).toMatchObject({ entries: 5, findings: [], head: { seq: kept.chain.seq + 5 } })
    expect((await run.verify({ behind: states[3]!.chain })).findings).not.toEqual([])
  })

  test('finds what is wrong there', async () => {
    const { first, script, states } = await history()
    await first.trail.close()
    const seq = states[6]!.chain.seq + 2
    tamper(first.profile, records => records.filter(each => each.kind !== 'entry' || each.seq !== seq))
    const { trail } = await first.reopen()
    const run = trail.run(script.run.id)
    expect((await run.verify({ behind: states[6]!.chain })).findings).toMatchObject([
      { seq: seq + 1, damage: 'missing' },
    ])
    expect((await run.verify({ behind: states.at(-2)!.chain })).findings).toEqual([])
  })

  test('a signed run stays one', async () => {
    const first = await temporaryTrail({ signer: ed25519Signer(Buffer.alloc(32, 1)) })
    const script = await first.start()
    const worker = await script.workspace()
    const kept = keptBy(script.run)
    await script.checkpoint(worker)
    await first.trail.close()
    tamper(
      first.profile,
      replaced(kept.chain.seq + 1, ({ signature: _signature, signer: _signer, ...unsigned }) => unsigned),
    )
    const { trail } = await first.reopen()
    const { findings } = await trail.run(script.run.id).verify({ behind: kept.chain })
    expect(findings).toMatchObject([{ damage: 'signature', violation: 'proof_missing' }])
  })
})
