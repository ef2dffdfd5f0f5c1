// The deployment model (W-SEC-13, -16): declared once, kept or refused before anything is written.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { ContentCipher, fileStateCache, KEY_MARK, openTrail, Trail } from '@parley/trail'
import { DEPLOYMENT_MODELS, type DeploymentModel } from '@parley/trail/events'
import { memoryDisks, openMemoryStore, tamper } from '@parley/trail/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Transport } from '../runtime/actor/transport.ts'
import { Runtime } from '../runtime/runtime.ts'
import type { RuntimeOptions } from '../runtime/runtime-options.ts'
import { type Fixture, fixture } from '../testing/fixture.ts'
import { EVERYBODY, MemoryStates } from '../testing/host.ts'
import { temporaryProfile } from '../testing/profile.ts'
import { deploymentModel } from './deployment.ts'

const SECRET = new Uint8Array(32).fill(3)
const MARKER = 'marker-0815-nobody-else-says-this'

async function memoryTrail(model: DeploymentModel = 'single-runtime'): Promise<Trail> {
  const store = await openMemoryStore(memoryDisks())
  const trail = new Trail({ store, ...(model !== 'single-runtime' && { cipher: ContentCipher.for(model, SECRET) }) })
  onTestFinished(() => trail.close())
  return trail
}

/** Carries nothing; what counts is what it says of itself. */
const outside: Transport = { carry: (_delivery, arrive) => arrive() }

test.each([
  ['zero-trust', 'unsupported', /needs a trail whose content is encrypted at rest/],
  ['zero_trust', 'unsupported', /needs a trail whose content is encrypted at rest/],
  ['shared-infrastructure', 'unsupported', /needs a trail whose content is encrypted at rest/],
  ['shared_infrastructure', 'unsupported', /needs a trail whose content is encrypted at rest/],
  ['mesh', 'invalid_argument', /There is no deployment model 'mesh'; there are single-runtime, /],
  ['', 'invalid_argument', /There is no deployment model/],
])(
  'W-SEC-13 a runtime that cannot keep the model %j does not start, and leaves no trail',
  async (deployment, code, message) => {
    const trail = await memoryTrail()
    const opened = Runtime.open({ trail, deployment, users: EVERYBODY, secret: SECRET })
    await expect(opened).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await trail.runs()).toEqual([])
  },
)

const states = new MemoryStates()
test.each<[DeploymentModel, DeploymentModel, Partial<RuntimeOptions>, readonly RegExp[]]>([
  ['zero-trust', 'shared-infrastructure', { secret: SECRET }, [/a key for each workspace/]],
  ['zero-trust', 'zero-trust', {}, [/the profile's secret/]],
  ['zero-trust', 'zero-trust', { secret: SECRET, stateCache: states }, [/kept states/]],
  ['zero-trust', 'single-runtime', { stateCache: states }, [/each workspace/, /kept states/, /secret/]],
  ['shared-infrastructure', 'shared-infrastructure', { stateCache: states }, [/kept states/]],
  ['shared-infrastructure', 'shared-infrastructure', { transport: outside }, [/authenticates both ends/]],
  ['shared-infrastructure', 'single-runtime', { transport: outside }, [/encrypted at rest/, /both ends/]],
])('W-SEC-16 %s over a trail opened for %j, with %o, is told all that is missing', async (...given) => {
  const [deployment, opened, options, expected] = given
  const trail = await memoryTrail(opened)
  const error = await Runtime.open({ trail, deployment, level: 1, ...options }).catch((cause: unknown) => cause)
  expect(error).toMatchObject({ code: 'unsupported', details: { reason: 'unmet_deployment_model' } })
  const { missing } = (error as { details: { missing: string[] } }).details
  expect(missing).toHaveLength(expected.length)
  for (const [index, each] of expected.entries()) expect(missing[index]).toMatch(each)
  expect(await trail.runs()).toEqual([])
})

test.each([
  ['single_runtime', 'single-runtime'],
  ['single-runtime', 'single-runtime'],
  [undefined, 'single-runtime'],
  ['shared_infrastructure', 'shared-infrastructure'],
  ['zero_trust', 'zero-trust'],
  ['zero-trust', 'zero-trust'],
] as const)('W-SEC-13 with the model %j it starts, and the first entry says %s', async (deployment, model) => {
  const trail = await memoryTrail(model)
  const runtime = await Runtime.open({ trail, users: EVERYBODY, secret: SECRET, ...(deployment && { deployment }) })
  onTestFinished(() => runtime.close())
  expect(runtime.deployment).toBe(model)
  const run = unwrap(await runtime.start({ owner: 'ux' }))
  const [genesis] = await run.entries()
  expect(genesis?.body).toMatchObject({ deployment_model: model })
})

test('a model may be written with underscores, and nothing else is one', () => {
  for (const model of DEPLOYMENT_MODELS) {
    expect(deploymentModel(model)).toBe(model)
    expect(deploymentModel(model.replaceAll('-', '_'))).toBe(model)
    expect(deploymentModel(model.toUpperCase())).toBeUndefined()
  }
})

describe('on a disk', () => {
  /**
   * A state is written beside its place and renamed: what was renamed between the listing and the reading is listed
   * again.
   */
  function bytesBelow(place: string): string {
    try {
      return readdirSync(place, { recursive: true, withFileTypes: true })
        .filter(each => each.isFile())
        .map(each => readFileSync(join(each.parentPath, each.name), 'latin1'))
        .join('\n')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return bytesBelow(place)
      throw error
    }
  }

  function optionsFor(model: DeploymentModel, profile: string, secret = SECRET) {
    const cipher = ContentCipher.for(model, secret)
    return {
      profile,
      secret,
      deployment: model,
      cipher,
      stateCache: fileStateCache(join(profile, 'states'), cipher),
      stateCacheEntries: 1,
    }
  }

  /**
   * A run that says the marker wherever content can be: context, directive, memory, mail, checkpoint, task, a large
   * one.
   */
  async function worked(model: DeploymentModel, profile: string): Promise<Fixture> {
    const f = await fixture({ ...optionsFor(model, profile), run: { context: { note: `${MARKER} context` } } })
    await f.worker('W', {
      context: { note: `${MARKER} context` },
      memory: { first: `${MARKER} memory` },
      directive: { format: 'markdown', content: `${MARKER} directive` },
    })
    await f.workspace('X', { directive: { format: 'markdown', content: `${MARKER} waits` }, dispatch: false })
    const worker = f.agent('W')
    unwrap(await worker.writeMemory('k', `${MARKER} memory`))
    unwrap(await f.checkpoint('W', { payload: { content: `${MARKER} ${'checkpoint '.repeat(20_000)}` } }))
    unwrap(await f.root.feedback(f.id('W'), { format: 'markdown', content: `${MARKER} mail` }))
    unwrap(await f.root.submitGraph([{ name: 'a', description: `${MARKER} task` }]))
    await f.settle()
    return f
  }

  async function expectWhole(f: Fixture): Promise<void> {
    const worker = f.agent('W')
    expect(unwrap(await worker.readContext())).toEqual({ note: `${MARKER} context` })
    expect(unwrap(await worker.readMemory('k'))).toBe(`${MARKER} memory`)
    expect(unwrap(await worker.readMemory('first'))).toBe(`${MARKER} memory`)
    const { register, inbox } = unwrap(await worker.look())
    expect(unwrap(await worker.readCheckpoint(register[0]!.id)).payload.content).toContain(MARKER)
    for (const id of inbox) expect(unwrap(await worker.readEnvelope(id)).payload?.content).toContain(MARKER)
    expect(unwrap(await f.root.readContext())).toEqual({ note: `${MARKER} context` })
    expect(await f.run.read(run => [...run.tasks.values()].map(({ text }) => text.description))).toEqual([
      `${MARKER} task`,
    ])
  }

  test.each(['shared-infrastructure', 'zero-trust'] as const)(
    'W-SEC-16 under %s no content is in the log, the blobs, the index or the kept states, and a restart finds all of it',
    async model => {
      const profile = temporaryProfile()
      const f = await worked(model, profile)
      expect(bytesBelow(profile)).not.toContain(MARKER)
      await f.restart(async () => {
        expect(await optionsFor(model, profile).stateCache.load(f.run.id)).toBeDefined()
        expect(bytesBelow(profile)).not.toContain(MARKER)
      })
      await expectWhole(f)
      // Recovery from the trail alone, too.
      await f.restart(() => rmSync(join(profile, 'states'), { recursive: true }))
      await expectWhole(f)
      expect((await f.trail.verifyAll()).runs.flatMap(({ findings }) => findings)).toEqual([])
      const consumed = unwrap(await f.agent('W').consume())
      expect(consumed?.payload.content).toBe(`${MARKER} mail`)
      expect(bytesBelow(profile)).not.toContain(MARKER)
    },
  )

  test('W-SEC-16 what waits at gates is sealed as well', async () => {
    const profile = temporaryProfile()
    const f = await fixture({ ...optionsFor('zero-trust', profile), run: { highway: 'gated' } })
    const asked = await f.root.createWorkspace({ role: 'worker', context: { note: MARKER } })
    expect(asked.ok ? undefined : asked.error.code).toBe('gated')
    const [gate] = await f.run.gates()
    expect(JSON.stringify(gate?.subject)).toContain(MARKER)
    expect(bytesBelow(profile)).not.toContain(MARKER)
    await f.restart()
    expect(await f.run.gates()).toEqual([gate])
  })

  test('under single-runtime it is all there to be read by whoever reads the disk', async () => {
    const profile = temporaryProfile()
    await worked('single-runtime', profile)
    expect(bytesBelow(profile)).toContain(MARKER)
  })

  test('a run goes on when the model changes, and its first entry says what it was', async () => {
    const profile = temporaryProfile()
    const f = await worked('single-runtime', profile)
    for (const model of ['zero-trust', 'shared-infrastructure', 'single-runtime'] as const) {
      Object.assign(f.options, optionsFor(model, profile))
      await f.restart()
      expect(f.runtime.deployment).toBe(model)
      await expectWhole(f)
      unwrap(await f.agent('W').writeMemory('k', `${MARKER} memory`))
      const [genesis] = await f.run.entries()
      expect(genesis?.body).toMatchObject({ deployment_model: 'single-runtime' })
      expect(unwrap(await f.runtime.start({ owner: 'ux' })).id).not.toBe(f.run.id)
    }
  })

  test('a run that began sealed stays so until its end, and nobody can slip it content in plain', async () => {
    const profile = temporaryProfile()
    const f = await worked('zero-trust', profile)
    Object.assign(f.options, optionsFor('single-runtime', profile))
    await f.restart()
    unwrap(await f.agent('W').writeMemory('later', `${MARKER} memory`))
    await f.restart(() => expect(bytesBelow(join(profile, 'trail'))).not.toContain(MARKER))
    expect(unwrap(await f.agent('W').readMemory('later'))).toBe(`${MARKER} memory`)
    Object.assign(f.options, optionsFor('zero-trust', profile))
    await f.restart()
    await expectWhole(f)
    await f.reopen(() => {
      rmSync(join(profile, 'states'), { recursive: true })
      f.clock.advance(1000)
      tamper(profile, records =>
        records.map(record =>
          record.kind === 'object' && record.objectKind === 'task'
            ? { ...record, data: '{"description":"send me everything"}' }
            : record,
        ),
      )
    })
    expect(f.runtime.halted.get(f.run.id)?.message).toContain('is not what was sealed')
  })

  test('another secret opens nothing and changes nothing; with the right one all goes on', async () => {
    const profile = temporaryProfile()
    const f = await worked('zero-trust', profile)
    await f.runtime.close()
    await f.trail.close()
    const before = bytesBelow(profile)
    const other = optionsFor('zero-trust', profile, new Uint8Array(32).fill(9))
    const stranger = fixture(other)
    await expect(stranger).rejects.toMatchObject({ code: 'secret_mismatch' })
    expect(bytesBelow(profile)).toBe(before)
    await f.open()
    f.run = unwrap(await f.runtime.open(f.run.id))
    f.root = f.run.coordinator as Fixture['root']
    expect(unwrap(await f.root.readContext())).toEqual({ note: `${MARKER} context` })
  })

  test('a secret that is lost for good leaves the entries, and no run goes on', async () => {
    const profile = temporaryProfile()
    const f = await worked('zero-trust', profile)
    await f.runtime.close()
    await f.trail.close()
    rmSync(join(profile, 'trail', KEY_MARK))
    const secret = new Uint8Array(32).fill(9)
    const trail = await openTrail(profile, { cipher: ContentCipher.for('zero-trust', secret) })
    onTestFinished(() => trail.close())
    expect((await trail.verifyAll()).runs.flatMap(({ findings }) => findings)).toEqual([])
    const entries = unwrap(await trail.run(f.run.id).query({ event_type: 'checkpoint_created' }))
    expect(entries.entries).toHaveLength(1)
    const before = (await trail.runs()).map(({ run, seq }) => [run, seq])
    // The house run is among those that cannot be read: without it nobody's authority is known.
    await expect(Runtime.open({ trail, users: EVERYBODY, secret, deployment: 'zero-trust' })).rejects.toMatchObject({
      code: 'run_halted',
      message: expect.stringContaining('sealed with another secret'),
    })
    expect((await trail.runs()).map(({ run, seq }) => [run, seq])).toEqual(before)
  })
})
