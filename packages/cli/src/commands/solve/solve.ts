// `parley solve`: the main job. Starts a run for an intent, asks once, follows it to its end.
import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Team } from '@parley/node'
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { cliLimits, SLOW } from '../../limits.ts'
import { askPeer } from '../../live/ask.ts'
import { attend } from '../../live/attend.ts'
import { isPlan } from '../../live/attendance.ts'
import type { Input, NodeClient } from '../../node/client.ts'
import { isOver, type RunView } from '../../node/views.ts'
import { isAttended, print, remark } from '../../output.ts'
import { shortId } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { readTextFile, TEAM_FILE } from '../words.ts'
import { type Mentioned, mentionedPeer } from './mention.ts'

type SolveInput = Input<'/solve/start'>

export const START_FLAGS = {
  project: {
    value: 'FOLDER',
    complete: 'folder',
    summary: 'The project (default: this folder, or the one above it that also holds the team file)',
  },
  yes: { short: 'y', summary: 'Approve the plan: every task is approved under your name' },
  gates: {
    value: 'PRESET',
    choices: ['autonomous', 'supervised', 'gated'],
    summary: 'When you are asked, overriding the team file',
  },
  force: { summary: 'Start it even though the same run was started too often' },
  detach: { summary: 'Start it and return immediately' },
} as const

export default command({
  about:
    "Uses the team file given with --team, or the project's parley.yaml (also from a subfolder of a git repository), or the agent given with --agent, or the default agent. On a terminal it shows the plan and asks once, also where the intent comes through a pipe. Without a terminal it needs --yes; otherwise the run waits for `parley approve`. Ctrl-C never ends a run without asking. Text that mentions a pinned peer, such as @bob, goes straight to that peer, as with `parley ask`, unless --team or --agent is given.",
  args: [{ name: 'INTENT', summary: 'What you want, in quotes, or - to read it from standard input' }],
  flags: {
    team: { value: 'FILE', complete: 'file', summary: 'The team file' },
    agent: { value: 'AGENT', summary: 'One agent alone: of the team file here, configured or a preset' },
    ...START_FLAGS,
  },
  examples: [
    ['parley solve "Write tests for the parser"', 'with the team in parley.yaml, asking before it starts'],
    [
      'parley solve "Fix the broken links" --agent claude --yes --json',
      'one agent, no questions, one JSON line per change',
    ],
    ['parley solve "@bob which version runs there?"', 'asks the pinned peer bob; nothing runs here'],
  ],
  async run(context, { flags, words }) {
    if (flags.team !== undefined && flags.agent !== undefined) {
      throw new Failure('usage', 'Both --team and --agent are given.', {
        why: 'A run has a team file or one agent.',
        next: 'Leave one of them out.',
      })
    }
    const intent = (words[0] === '-' ? await context.terminal.input() : words[0]!).trim()
    const mentioned =
      flags.team === undefined && flags.agent === undefined ? await mentionedPeer(context, intent) : undefined
    if (mentioned) return askMentioned(context, mentioned, flags.detach)
    const { file, project } = placeOf(context, flags)
    const team = file === undefined ? undefined : await readTeam(context, file, readTextFile(file))
    return start(context, {
      intent,
      project,
      team: flags.agent === undefined ? team : await teamWith(context, flags.agent),
      agent: flags.agent,
      approved: flags.yes,
      ...startChoices(context, flags),
      detach: flags.detach,
    })
  },
})

/** ALP-MENTION-04: straight to the peer. There is no run, and no agent of ours is asked. */
function askMentioned(context: Context, { api, peer, prompt }: Mentioned, detach: boolean): Promise<ExitCode> {
  if (detach) {
    throw new Failure('usage', `A request to the peer ${peer} cannot run in the background.`, {
      why: 'Its turn ends when nobody is waiting for the answer.',
      next: 'Leave out --detach, or name an agent with --agent if this is not for the peer.',
    })
  }
  remark(context, `This goes to the peer ${peer}. Use --agent or --team to keep it here.`)
  return askPeer(context, api, { peer, prompt })
}

export function startChoices(
  { env }: Context,
  { gates, force }: { readonly gates: string | undefined; readonly force: boolean },
): Pick<SolveInput, 'gates' | 'parent' | 'force'> {
  // Inside a turn: the run that this one comes from.
  const parent = env.PARLEY_RUN || undefined
  return { gates: gates as SolveInput['gates'], parent, force: force || undefined }
}

interface Place {
  readonly file?: string
  readonly project: string
}

/** A team file at the top of a repository applies to all of it, as in `git`. */
function placeOf(context: Context, flags: Readonly<Record<'team' | 'agent' | 'project', string | undefined>>): Place {
  const { cwd } = context
  const project = resolve(cwd, flags.project ?? '.')
  if (flags.team !== undefined) {
    const file = resolve(cwd, flags.team)
    return { file, project: flags.project === undefined ? projectOf(context, file) : project }
  }
  if (flags.agent !== undefined) return { project }
  const here = [join(project, TEAM_FILE), join(cwd, TEAM_FILE)].find(each => existsSync(each))
  if (here !== undefined) return { file: here, project }
  const above = flags.project === undefined ? teamAbove(cwd) : undefined
  if (above === undefined) return { project }
  remark(context, `Using the team file ${above}; its folder is the project.`)
  return { file: above, project: dirname(above) }
}

/** Of a named team file: the nearest folder, inside one repository, that holds it and the folder of the caller. */
export function projectOf(context: Context, file: string): string {
  const { cwd } = context
  const found = holding(cwd, file)
  if (found !== cwd)
    remark(
      context,
      `The project is ${found ?? cwd}${found === undefined ? '' : ', which holds the team file'}; --project names another one.`,
    )
  return found ?? cwd
}

function holding(folder: string, file: string): string | undefined {
  let found: string | undefined
  for (let place = folder; ; place = dirname(place)) {
    if (found === undefined && !relative(place, file).startsWith('..')) found = place
    if (found === folder || existsSync(join(place, '.git'))) return found
    if (dirname(place) === place) return undefined
  }
}

/** The team file here, if it has this agent; a file with mistakes is no reason not to use another agent. */
async function teamWith(context: Context, agent: string): Promise<ReadTeam | undefined> {
  const near = await nearestTeam(context).catch(() => undefined)
  return near && Object.hasOwn(near.team.agents, agent) ? near : undefined
}

export async function nearestTeam(context: Context): Promise<ReadTeam | undefined> {
  const file = nearestTeamFile(context)
  return file === undefined ? undefined : readTeam(context, file, readTextFile(file))
}

/** Here, or above in the same repository. */
export function nearestTeamFile({ cwd }: Pick<Context, 'cwd'>): string | undefined {
  const own = join(cwd, TEAM_FILE)
  return existsSync(own) ? own : teamAbove(cwd)
}

/** The nearest team file between the folder and the top of its repository. */
function teamAbove(folder: string): string | undefined {
  let found: string | undefined
  for (let place = folder; ; place = dirname(place)) {
    const file = join(place, TEAM_FILE)
    if (found === undefined && existsSync(file)) found = file
    if (existsSync(join(place, '.git'))) return found
    if (dirname(place) === place) return undefined
  }
}

/** Waits until the run works, has ended, or waits for a person. */
async function begun({ clock }: Context, api: NodeClient, run: string): Promise<RunView> {
  const controller = new AbortController()
  const cancel = clock.after(cliLimits.begunMs, () => controller.abort())
  try {
    for await (const view of api.streams.runs.follow({ run }, { signal: controller.signal }))
      if (view.gates.length > 0 || isOver(view.state) || view.tasks.some(({ state }) => state !== 'waiting'))
        return view
  } finally {
    cancel()
    controller.abort()
  }
  return api.runs.show({ run })
}

function nameFrom(folder: string, file: string): string {
  const near = relative(folder, file)
  return near.startsWith('..') ? file : near
}

function detachedText(view: RunView): string {
  const id = shortId(view.run)
  const [gate] = view.gates
  if (gate && isPlan(gate, view))
    return `It has not started: parley approve ${id} starts it, parley reject ${id} cancels it.`
  if (gate) return `It is waiting for an answer: parley inbox --run ${id}`
  return `It is running in the background: parley show ${id} --follow`
}

interface ReadTeam {
  readonly file: string
  readonly text: string
  readonly team: Team
}

/** Mistakes in the file are shown with their lines, before a node is even started. */
export async function readTeam({ cwd }: Context, file: string, text: string): Promise<ReadTeam> {
  const { readTeamFile } = await import('../../team-file.ts')
  return { file, text, team: readTeamFile(text, file, cwd) }
}

interface Start extends Omit<SolveInput, 'team' | 'environment'> {
  readonly team: ReadTeam | undefined
  readonly detach: boolean
}

/** A project that is copied may take a while: the screen says what is going on. */
async function slowly<T>(context: Context, project: string, work: () => Promise<T>): Promise<T> {
  const cancel = context.clock.after(cliLimits.silentMs, () =>
    remark(
      context,
      `Reading ${oneLine(project)}. A project without git is copied for the agents, which takes longer the larger it is. If you leave now, no run is started.`,
    ),
  )
  try {
    return await work()
  } finally {
    cancel()
  }
}

export async function start(context: Context, { detach, team: read, ...input }: Start): Promise<ExitCode> {
  if (input.intent === '' || input.intent.length > cliLimits.intentLength) {
    throw new Failure('usage', input.intent === '' ? 'The intent is empty.' : 'The intent is too long.', {
      why: `It must be 1 to ${cliLimits.intentLength} characters.`,
      next: 'parley solve "what you want"',
    })
  }
  const api = await context.connect({ create: true })
  const { startEnvironment } = await import('@parley/node')
  const environment = startEnvironment(context.env, { team: read?.team })
  const sent = read && { team: { file: read.file, text: read.text } }
  // A plan that is asked about here waits for the answer, whatever becomes of this terminal.
  const attended = (isAttended(context) && !detach && !input.approved) || undefined
  const started = await slowly(context, input.project, () =>
    api.solve.start({ ...input, ...sent, attended, environment }, SLOW),
  )
  const { run, agents } = started
  // A line is one of the team file, which may not be where the user is.
  const warnings = started.warnings.map(each =>
    read && /^line \d/.test(each) ? `${nameFrom(context.cwd, read.file)}: ${each}` : each,
  )
  for (const each of warnings) remark(context, `${context.terminal.paint('warning', 'warning:')} ${oneLine(each)}`)
  if (detach) {
    const view = await begun(context, api, run)
    print(context, view, () => [run, ...(context.global.quiet ? [] : [detachedText(view)])])
    return EXIT.done
  }
  return attend(context, api, run, {
    yes: input.approved,
    // The view of the run has the same warnings without line numbers.
    told: new Set(started.warnings.map(each => each.replace(/^line \d+: /, ''))),
    agents,
    ...(read && { team: read.team }),
  })
}
