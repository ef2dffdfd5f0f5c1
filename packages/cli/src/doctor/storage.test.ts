// What `parley doctor` says of the secret, the deployment model and the replica.
import { describe, expect, test } from 'vitest'
import type { TiersView } from '../node/views.ts'
import { doctorHome, nodeWith, on, own } from '../testing/doctor.ts'
import type { Answering } from '../testing/fake-node.ts'
import type { Surroundings } from '../testing/parley.ts'
import type { FileFacts, Probes } from './check.ts'

const { doctor, finding, write } = doctorHome()

/** No agent is installed here; that is a warning. */
const AGENTS = 'warning: agents'
/** Something is recorded, on this disk alone. */

test('a secret that is gone from a profile that was used', async () => {
  expect(await finding('secret', on({ trail: 1 }))).toMatchObject({
    state: 'problem',
    text: expect.stringMatching(/secret is missing/),
    remedy: expect.stringContaining('backup'),
  })
})

const withModel = (model: string) => write('config.yaml', `deployment: ${model}\n`)

test.each([
  ['single-runtime', 'content is proven, not encrypted'],
  ['shared-infrastructure', 'one key'],
  ['zero_trust', 'a key for each workspace'],
])('W-SEC-13 the deployment model %s is shown', async (model, text) => {
  withModel(model)
  const { checks, bad } = await doctor()
  const found = checks.find(({ check }) => check === 'deployment')
  expect(found).toMatchObject({ state: 'ok', text: expect.stringContaining(text) })
  expect(found?.text).toContain(model.replace('_', '-'))
  expect(bad).toEqual([AGENTS])
})

test('a secret beside what it seals is worth a warning, and one that is gone is a problem', async () => {
  withModel('zero-trust')
  expect((await doctor(on({ '/secret': 1, trail: 1 }))).bad).toContain('warning: secret')
  expect((await doctor(on({ '/secret': 2, trail: 1 }))).bad).toEqual([AGENTS])
  expect((await doctor(on({ 'trail/content.key': 1, trail: 1 }))).bad).toContain('problem: secret')
  withModel('single-runtime')
  expect((await doctor(on({ '/secret': 1, trail: 1 }))).bad).toEqual([AGENTS])
  expect((await doctor(on({ 'trail/content.key': 1, trail: 1 }))).bad).toContain('problem: secret')
})

describe('W-TRAIL-26 the replica', () => {
  const FOLDER = '/mnt/replica'
  const tiers = (replica: TiersView['replica']): Answering<'/trail/tiers'> => {
    const none = { entries: 0, bytes: 0, runs: 0, oldest: null }
    return async () => ({ hot: none, warm: none, cold: none, deleted: 0, unreadable: [], replica })
  }
  const kept = (device: number, facts: Partial<FileFacts> = {}) => ({
    file: (path: string) => {
      if (path.startsWith(FOLDER)) return { ...own, device, ...facts }
      return path.endsWith('/trail') ? { ...own, device: 1 } : undefined
    },
  })
  const named = () => write('config.yaml', `trail: { replica: ${FOLDER} }\n`)
  const look = (probes: Partial<Probes>, around?: Surroundings) => finding('replica', probes, around)

  test('is told, and not warned of, once something is recorded', async () => {
    expect(await look({})).toMatchObject({ state: 'ok' })
    expect(await look(on({ trail: 1 }))).toMatchObject({
      state: 'ok',
      text: expect.stringContaining('lost with this disk'),
    })
  })

  test('must be there, be writable, and be on another device', async () => {
    named()
    expect(await look(on({ trail: 1 }))).toMatchObject({
      state: 'problem',
      text: expect.stringContaining('is missing'),
    })
    expect(await look({ ...kept(2), writable: path => path !== FOLDER })).toMatchObject({
      state: 'problem',
      text: expect.stringContaining('cannot be written'),
    })
    expect(await look(kept(1))).toMatchObject({
      state: 'warning',
      text: expect.stringContaining('lost together'),
    })
    expect(await look(kept(2))).toEqual({ check: 'replica', state: 'ok', text: FOLDER })
  })

  test.each([
    ['is not used by the node that runs', null, 'warning', 'does not use it'],
    ['lags', { folder: FOLDER, lacking: 3 }, 'warning', 'lacks 3 files'],
    ['cannot be used', { folder: FOLDER, lacking: 0, problem: 'The disk is full.' }, 'problem', 'full'],
    ['is up to date', { folder: FOLDER, lacking: 0 }, 'ok', FOLDER],
  ])('%s', async (_what, replica, state, text) => {
    named()
    const node = nodeWith({}, { '/trail/tiers': tiers(replica) })
    expect(await look(kept(2), { node })).toMatchObject({ state, text: expect.stringContaining(text) })
  })

  test('and what the storage life cycle could not do is told', async () => {
    const fault = {
      run: 'run_1',
      code: 'trail_damaged',
      message: 'Entry 4 was edited.',
      since: '2026-11-15T10:00:00.000000Z',
      attempts: 2,
      retry: '2026-11-15T11:00:00.000000Z',
    }
    const storage = { working: null, faults: [fault, { ...fault, run: null }] }
    expect(await finding('storage', {}, { node: nodeWith({ storage }) })).toMatchObject({
      state: 'warning',
      text: 'Entry 4 was edited. (and 1 more problem)',
    })
  })
})

test('a node that keeps another model than the configuration says', async () => {
  withModel('zero-trust')
  const node = nodeWith({ deployment: 'single-runtime' })
  expect(await finding('deployment', {}, { node })).toMatchObject({
    state: 'warning',
    text: expect.stringContaining('uses single-runtime'),
  })
})
