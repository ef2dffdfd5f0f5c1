// `parley doctor --live`: one real turn of each agent, as a run of its own, so that the record and the ledger have it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, startEnvironment } from '@parley/node'
import type { Context } from '../command.ts'
import { asFailure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import { type AgentView, isOver, type RunView } from '../node/views.ts'
import { duration } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { type Finding, problem } from './check.ts'

const INTENT = 'Answer with the one word OK. Change no file.'

/** Adds to what is known of an agent what came of a turn. */
export function liveTurn(context: Context, config: Config): (agent: AgentView, known: Finding) => Promise<Finding> {
  return (agent, known) => take(context, config, agent, known)
}

async function take(context: Context, config: Config, agent: AgentView, known: Finding): Promise<Finding> {
  const { api, clock, env } = context
  const project = await mkdtemp(join(tmpdir(), 'parley-doctor-'))
  const controller = new AbortController()
  const cancel = clock.after(cliLimits.liveMs, () => controller.abort())
  const began = clock.now()
  let activity: string | undefined
  try {
    const environment = startEnvironment(env, { config })
    const start = { intent: INTENT, project, agent: agent.name, approved: true, force: true, environment }
    const { run } = await api.solve.start(start)
    const views = api.streams.runs.follow({ run }, { signal: controller.signal })
    const view = await decided(views, ({ tasks }) => {
      activity = tasks[0]?.activity ?? activity
    })
    if (!view || !isOver(view.state)) await api.runs.abort({ run, reason: 'parley doctor has seen enough' })
    const took = duration((clock.now() - began) / 1000)
    if (view?.state === 'done') return { check: known.check, state: 'ok', text: `${known.text}; answered in ${took}` }
    return failed(agent, known, view ? why(view) : silent(took, activity))
  } catch (thrown) {
    return failed(agent, known, asFailure(thrown).message)
  } finally {
    cancel()
    controller.abort()
    await rm(project, { recursive: true, force: true })
  }
}

/** The run once nothing that comes later can be better; undefined if that never came. */
async function decided(views: AsyncIterable<RunView>, seen: (view: RunView) => void): Promise<RunView | undefined> {
  for await (const view of views) {
    seen(view)
    const failed = view.tasks.some(({ steps }) => steps.some(({ outcome }) => outcome === 'failed'))
    if (failed || isOver(view.state) || view.gates.length > 0) return view
  }
  return undefined
}

/** A program that tries again for long has said why. */
function silent(took: string, activity: string | undefined): string {
  return `no answer in ${took}${activity === undefined ? '' : `; the last word was: ${activity}`}`
}

function why({ tasks, reason, gates }: RunView): string {
  const [task] = tasks
  const step = task?.steps.findLast(({ outcome }) => outcome === 'failed')
  return step?.text?.split('\n')[0] ?? task?.note ?? gates[0]?.question ?? reason ?? 'it gave no reason'
}

function failed({ needs }: AgentView, { check, text }: Finding, reason: string): Finding {
  return problem(check, `${text}; a turn failed: ${oneLine(reason)}`, needs?.help ?? 'Fix the agent in config.yaml.')
}
