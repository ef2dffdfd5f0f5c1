// `decide` is pure and `evolve` is all there is to recovery, whatever is asked.
import { isDeepStrictEqual } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import type { RunId } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from './decide.ts'
import { evolve } from './evolve.ts'
import { REFUSAL_CODES } from './refusal.ts'
import { newRun, type Run } from './run/run.ts'
import { type BareRecord, begunBare } from './testing/bare.ts'
import { type Fixture, fixture } from './testing/fixture.ts'
import { anyStep, commandOf, prologue, randomTaxonomy, type Step } from './testing/random-commands.ts'

const RUNS = process.env.PARLEY_SOAK ? 10_000 : 300
/** Each of these keeps a disk in memory until the test ends. */
const RUNTIME_RUNS = process.env.PARLEY_SOAK ? 150 : 30
const steps = (length: number) => fc.array(anyStep, { minLength: 1, maxLength: length, size: 'max' })

function replayed(records: readonly BareRecord[]): Run {
  const run = newRun('run_1' as RunId)
  // As the trail gives them back.
  for (const record of JSON.parse(JSON.stringify(records)) as BareRecord[]) evolve(run, record)
  return run
}

/** Fails with a readable difference. */
function expectEqualRuns(one: Run, other: Run): void {
  if (isDeepStrictEqual(one, other)) return
  expect(one).toStrictEqual(other)
}

test('decide changes nothing and says the same again; replaying its records gives the same state', () => {
  fc.assert(
    fc.property(steps(60), fc.boolean(), (all, carriesSignals) => {
      const bare = begunBare()
      for (const step of all) {
        const command = commandOf(bare.run, step)
        const before = serialize(bare.run)
        const decision = decide(bare.run, command, bare.context(carriesSignals))
        // Equal numbers can have different bytes, as V8 keeps them: then the values decide.
        const unchanged = before.equals(serialize(bare.run)) || isDeepStrictEqual(deserialize(before), bare.run)
        expect(unchanged, `decide changed the state: ${JSON.stringify(command)}`).toBe(true)
        expect(decide(bare.run, command, bare.context(carriesSignals))).toEqual(decision)
        if (!decision.result.ok) expect(REFUSAL_CODES).toContain(decision.result.error.code)
        bare.take(decision)
      }
      expectEqualRuns(replayed(bare.records), bare.run)
    }),
    { numRuns: RUNS },
  )
})

test('a refusal without a record of its own leaves every object as it was', () => {
  fc.assert(
    fc.property(steps(40), all => {
      const bare = begunBare()
      for (const step of all) {
        const command = commandOf(bare.run, step)
        const decision = decide(bare.run, command, bare.context(false))
        // What waits at a gate is no refusal: the gate is on record.
        if (!decision.result.ok && decision.result.error.code !== 'gated') {
          // Denials and rejections are on record; nothing else is.
          const types = decision.entries.map(({ event_type }) => event_type)
          for (const type of types) expect(type).toMatch(/^(capability_denied|authentication_failed|\w+_rejected)$/)
          expect(types.length).toBeLessThanOrEqual(1)
          expect(decision.objects).toEqual([])
        }
        bare.take(decision)
      }
    }),
    { numRuns: RUNS },
  )
})

/** The live state of a fixture's run equals what its trail gives. */
async function expectReplayed(f: Fixture): Promise<void> {
  await f.settle()
  const live = await f.runtime.read(f.run.id, run => structuredClone(run))
  const again = newRun(f.run.id)
  for await (const record of f.runtime.trail(f.run.id).replay()) evolve(again, record)
  expectEqualRuns(again, live)
}

/** Asks a runtime on a real trail, a few commands at a time, and opens it again afterwards. */
async function askRuntime(all: readonly Step[], together: number): Promise<void> {
  const f = await fixture({ run: { taxonomy: randomTaxonomy }, active: false })
  const state = await f.run.read(run => run)
  for (const command of prologue(state)) {
    await f.run.submit(command)
    await f.settle()
  }
  for (let at = 0; at < all.length; at += together) {
    const commands = await f.run.read(run => all.slice(at, at + together).map(step => commandOf(run, step)))
    const answers = commands.map(command => f.run.submit(command))
    await f.settle()
    // What waits for an integration to end stays without an answer.
    for (const answer of await Promise.all(answers.map(each => Promise.race([each, undefined]))))
      if (answer && !answer.ok) expect(REFUSAL_CODES).toContain(answer.error.code)
  }
  await expectReplayed(f)
  expect((await f.trail.run(f.run.id).verify()).findings).toEqual([])
  const stamps = (await f.run.entries()).map(({ timestamp }) => timestamp)
  expect(stamps).toEqual([...new Set(stamps)].sort())
  await f.restart()
  await expectReplayed(f)
  await f.runtime.close()
  await f.trail.close()
}

test('whatever agents ask, the trail takes what is decided, and a restart gives the same state', async () => {
  await fc.assert(fc.asyncProperty(steps(40), fc.integer({ min: 1, max: 8 }), askRuntime), { numRuns: RUNTIME_RUNS })
})
