// Putting the parts of a run's folders together: for a new run from a project, after a restart from the stored facts.
import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, ParleyError, type RunId, SystemClock } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'
import { Contents } from './contents.ts'
import { exactBytes, firstCommit } from './files/copy.ts'
import { Scope } from './files/scope.ts'
import { requireGit } from './git/git.ts'
import { folderLimits } from './limits.ts'
import { type ProjectFacts, projectFacts } from './model.ts'
import { findProject, type GitLocation, ignoredByUser, locate, type Project } from './project.ts'
import { privateFolder, Repository } from './repository.ts'
import { places, requireName, type Site } from './site.ts'
import { requireFitToCopy, requireUncommitted } from './unfit-project.ts'

export interface Start {
  /** The run's own folder, made if it is missing. */
  readonly home: string
  readonly run: RunId
  /** The system's without it. */
  readonly clock?: Clock
}
type Begun = Required<Start>

export interface NewSite extends Start {
  readonly project: string
  /** Whose keys no agent may get: the run's own folder without it. */
  readonly profile?: string
}

export async function createSite(options: NewSite): Promise<Site> {
  const start = await begin(options)
  const project = await findProject(options.project, start.clock)
  const profile = await realpath(options.profile ?? start.home)
  if (project.kind === 'copy') await requireFitToCopy(project.path, profile)
  else await requireUncommitted(project, profile, start.clock)
  const gitDir = project.kind === 'git' ? project.gitDir : places.git(start.home)
  const repository = new Repository(gitDir, start)
  await requireNew(repository, start)
  const contents =
    project.kind === 'git' ? await borrowContents(project, start) : await ownContents(project.path, start)
  const { kind, path } = project
  const branchName = await freeBranch(project, repository, start.run)
  const facts: ProjectFacts =
    project.kind === 'git'
      ? {
          kind,
          path,
          folder: project.folder,
          base: project.head,
          dirty: project.dirty.length,
          ...(project.dirty.length > 0 && { dirty_files: project.dirty.slice(0, coordinatorLimits.namedChanges) }),
          branchName,
        }
      : { kind, path, folder: '', base: await firstCommit(contents, { project: path, ...start }), dirty: 0, branchName }
  // One transaction: a run that was killed here has both or none, and can be created again.
  await repository.update([
    { ref: repository.ref('head'), to: facts.base },
    { ref: repository.ref('base'), to: facts.base },
  ])
  return { ...start, facts, scope: new Scope(facts.folder), repository, contents }
}

/** Takes back what `createSite` may have written to a project before it was cut off. */
export async function abandonSite(options: Start & { readonly project: string }): Promise<void> {
  const { project, run, clock = new SystemClock() } = options
  const location = existsSync(project) ? await locate(project, clock) : undefined
  if (location) await new Repository(location.gitDir, { run, clock }).clean()
}

export async function openSite(options: Start & { readonly facts: ProjectFacts }): Promise<Site> {
  const start = await begin(options)
  const parsed = projectFacts.check(options.facts, 'invalid_facts')
  if (!parsed.ok) throw parsed.error
  const facts = parsed.value
  const git = places.git(start.home)
  const site = { ...start, facts, scope: new Scope(facts.folder) }
  if (facts.kind === 'copy') {
    if (!existsSync(join(git, 'HEAD'))) throw gone(facts, `the copy of the project in ${git} is missing`)
    const repository = new Repository(git, start)
    return { ...site, repository, contents: new Contents({ gitDir: git, clock: start.clock }) }
  }
  if (!existsSync(facts.path)) throw gone(facts, 'the folder is missing')
  const location = await locate(facts.path, start.clock)
  if (location === undefined) throw gone(facts, 'it is no git repository any more')
  const repository = new Repository(location.gitDir, start)
  if (!(await repository.has(facts.base))) throw gone(facts, `its commit ${facts.base} is missing`)
  return { ...site, repository, contents: await borrowContents(location, start) }
}

async function begin({ home, run, clock = new SystemClock() }: Start): Promise<Begun> {
  requireName(run, 'run')
  await privateFolder(home)
  const real = await realpath(home)
  await requireGit(clock, real)
  return { home: real, run, clock }
}

/** Creating a run again is fine as long as nothing was integrated: a process that was killed may have begun. */
async function requireNew(repository: Repository, { run }: Begun): Promise<void> {
  if (!existsSync(repository.gitDir)) return
  const head = await repository.read(repository.ref('head'))
  if (head === undefined || head === (await repository.read(repository.ref('base')))) return
  throw new ParleyError('run_exists', `The run ${run} has results already. Open it instead of creating it.`)
}

async function ownContents(path: string, { home, clock }: Begun): Promise<Contents> {
  const exclude = await ignoredByUser(path, undefined, clock)
  const made = { format: 'sha1', exclude, attributes: exactBytes }
  return Contents.create({ gitDir: places.git(home), clock }, made)
}

/** Made anew at every start: it holds nothing of its own. */
async function borrowContents({ path, gitDir, format }: GitLocation, { home, clock }: Begun): Promise<Contents> {
  const shallow = await readFile(join(gitDir, 'shallow')).catch(() => undefined)
  const exclude = await ignoredByUser(path, gitDir, clock)
  return Contents.create(
    { gitDir: places.git(home), objects: join(gitDir, 'objects'), clock },
    { format, exclude, attributes: '', ...(shallow !== undefined && { shallow }) },
  )
}

/** A branch `parley` would stand in the way of `parley/…`. The end of an id is its random part. */
async function freeBranch(project: Project, repository: Repository, run: RunId): Promise<string> {
  const short = run
    .slice(-folderLimits.branchIdLength)
    .toLowerCase()
    .replace(/^[_-]+/, '')
  if (project.kind === 'copy') return `parley/${short}`
  const separator = (await repository.read('refs/heads/parley')) === undefined ? '/' : '-'
  const name = `parley${separator}${short}`
  return (await repository.read(`refs/heads/${name}`)) === undefined ? name : `parley${separator}${run}`
}

function gone({ path }: ProjectFacts, what: string): ParleyError {
  return new ParleyError(
    'project_gone',
    `The project ${path} is not what it was when the run began: ${what}. Put it back, then try again.`,
  )
}
