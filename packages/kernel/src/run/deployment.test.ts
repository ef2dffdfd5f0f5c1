// The deployment model (W-SEC-13, -16): declared once, kept or refused before anything is written.
import { unwrap } from '@parley/core'
import { memoryDisks, openMemoryStore, Trail } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'
import { Runtime } from '../runtime/runtime.ts'

async function openTrail(): Promise<Trail> {
  const trail = new Trail({ store: await openMemoryStore(memoryDisks()) })
  onTestFinished(() => trail.close())
  return trail
}

test.each([
  ['zero-trust', 'unsupported', /needs encryption at rest/],
  ['zero_trust', 'unsupported', /needs encryption at rest/],
  ['shared-infrastructure', 'unsupported', /needs encrypted transport/],
  ['mesh', 'invalid_argument', /There is no deployment model 'mesh'; there are single-runtime, /],
  ['', 'invalid_argument', /There is no deployment model/],
])(
  'WM-058 a runtime that cannot keep the model %j does not start, and leaves no trail',
  async (deployment, code, message) => {
    const trail = await openTrail()
    const opened = Runtime.open({ trail, deployment })
    await expect(opened).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
    expect(await trail.runs()).toEqual([])
  },
)

test.each(['single_runtime', 'single-runtime', undefined])(
  'WM-058 with the model %j it starts, and the first entry says single-runtime',
  async deployment => {
    const trail = await openTrail()
    const runtime = await Runtime.open({ trail, ...(deployment && { deployment }) })
    onTestFinished(() => runtime.close())
    const run = unwrap(await runtime.start())
    const [genesis] = await run.entries()
    expect(genesis?.body).toMatchObject({ deployment_model: 'single-runtime' })
  },
)
