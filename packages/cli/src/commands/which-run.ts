// Which run a command means: one that is named, the newest of the project here, or the only one at work.
import type { Context } from '../command.ts'
import { Failure } from '../failure.ts'
import { shortId } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { LAST } from './words.ts'

type Around = Pick<Context, 'api' | 'cwd'>

/** Other projects are never meant: what is done with a run, `apply` for example, would hit the wrong one. */
export async function runHere({ api, cwd }: Around, named: string = LAST): Promise<string> {
  if (named !== LAST) return named
  const [own] = (await api.runs.list({ limit: 1, folder: cwd })).runs
  if (own) return own.run
  const [newest] = (await api.runs.list({ limit: 1 })).runs
  if (!newest) throw new Failure('not_found', 'There is no run yet.', { next: '`parley solve "…"` starts one.' })
  throw new Failure('not_found', `There is no run of the project in ${cwd}.`, {
    why: `The newest run elsewhere is ${shortId(newest.run)}${newest.project === '' ? '' : `, of ${oneLine(newest.project)}`}.`,
    next: 'Go to its project, or name the run; `parley runs` lists all.',
    details: { newest: newest.run, project: newest.project },
  })
}

/** Of any project: what is at work is seen everywhere. */
export async function runAtWork(around: Around, named: string | undefined): Promise<string> {
  if (named !== undefined) return runHere(around, named)
  const { runs } = await around.api.runs.list({ states: ['waiting', 'working'] })
  const [only, ...others] = runs
  if (!only) throw new Failure('not_found', 'No run is at work.', { next: '`parley runs` lists all runs.' })
  if (others.length === 0) return only.run
  throw new Failure('ambiguous', `${runs.length} runs are at work.`, {
    next: 'Name one of them. Nothing was changed.',
    details: { runs: runs.map(({ run }) => run), questions: runs.map(({ intent }) => intent) },
  })
}
