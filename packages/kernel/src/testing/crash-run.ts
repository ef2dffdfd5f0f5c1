// A process that works in a run and dies without warning the moment its nth command is acknowledged.
//   node crash-run.ts PROFILE N
import { writeSync } from 'node:fs'
import { unwrap } from '@parley/core'
import { openTrail } from '@parley/trail'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { Runtime } from '../runtime/runtime.ts'
import { GUARDS } from './host.ts'

const [profile, count] = process.argv.slice(2)
let left = Number(count)

/** Waits for the answer; if it is the last one, nothing else happens in this process. */
async function acknowledged<T>(answer: Promise<T>): Promise<T> {
  const result = await answer
  if (--left === 0) process.kill(process.pid, 'SIGKILL')
  return result
}

const runtime = await Runtime.open({ trail: await openTrail(profile!), ...GUARDS })
const run = unwrap(await runtime.start({ owner: 'ux', highway: 'off' }))
// Straight to the pipe, before anything can strike.
writeSync(1, `${run.id}\n`)
const root = run.coordinator as AgentHandle
const artifact = { type: 'artifact', intent: 'show', confidence: 'high' } as const
const { tasks } = unwrap(await root.submitGraph([{ name: 'a', description: 'do it' }]))

unwrap(await acknowledged(root.started()))
const made = await acknowledged(root.createWorkspace({ role: 'worker', task: tasks[0]! }))
const worker = unwrap(made) as AgentHandle
const mail = unwrap(await acknowledged(worker.receive()))
unwrap(await acknowledged(worker.started()))
unwrap(await acknowledged(worker.writeMemory('mail', mail.id)))
unwrap(await acknowledged(worker.blocked('waiting')))
unwrap(await acknowledged(worker.started()))
const payload = { content: 'done' }
unwrap(await acknowledged(worker.checkpoint({ ...artifact, payload, status: 'final' })))
unwrap(await acknowledged(worker.complete()))
unwrap(await acknowledged(root.accept(worker.workspace)))
unwrap(await acknowledged(run.close()))
