// One run with very many entries, as a coordinator with a team would leave it behind: tasks that are done one after the
// other, each with mail, working memory and checkpoints.
import { type CheckpointId, unwrap } from '@parley/core'
import type { RunHandle, Runtime, Worker } from '@parley/kernel'

const TOGETHER = 64
const STEPS = 10
const MAIL = 5

/** Works in a new run until it has at least so many entries. */
export async function longRun(runtime: Runtime, entries: number): Promise<RunHandle> {
  const run = unwrap(await runtime.start({ owner: 'bench', highway: 'off' }))
  unwrap(await run.coordinator.started())
  const written = () => run.read(({ seq }) => seq)
  await Promise.all(
    Array.from({ length: TOGETHER }, async () => {
      while ((await written()) < entries) await doTask(run)
    }),
  )
  return run
}

/** A run that has just begun: one worker with its first task. */
export async function shortRun(runtime: Runtime): Promise<RunHandle> {
  const run = unwrap(await runtime.start({ owner: 'bench', highway: 'off' }))
  unwrap(await run.coordinator.started())
  await openTask(run)
  return run
}

async function openTask(run: RunHandle): Promise<Worker> {
  const { coordinator } = run
  const graph = unwrap(await coordinator.submitGraph([{ name: 'step', description: 'Ten steps.' }]))
  const worker = unwrap(await coordinator.createWorkspace({ role: 'worker', resources: ['**'], task: graph.tasks[0]! }))
  unwrap(await worker.receive())
  unwrap(await worker.started())
  return worker
}

async function doTask(run: RunHandle): Promise<void> {
  const worker = await openTask(run)
  let parent: CheckpointId | null = null
  for (let step = 0; step < STEPS; step++) {
    if (step < MAIL) {
      const payload = { format: 'markdown', content: `Mind the edge case number ${step}.` }
      unwrap(await run.coordinator.feedback(worker.workspace, payload))
      unwrap(await worker.writeMemory(`note-${step}`, { step, text: 'seen' }))
    }
    const made = await worker.checkpoint({
      type: 'artifact',
      payload: { content: `The result of step ${step}.`, files_changed: [`src/part-${step}.ts`] },
      intent: 'A step is done.',
      parent,
      status: step === STEPS - 1 ? 'final' : 'provisional',
      confidence: 'high',
    })
    parent = unwrap(made).checkpoint
  }
  for (let step = 0; step < MAIL; step++) unwrap(await worker.receive())
  unwrap(await worker.complete())
  unwrap(await run.coordinator.accept(worker.workspace))
}
