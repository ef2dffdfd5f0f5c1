// Starts runs: who may, once for each key; the folders, the highway, the first entries. A refusal leaves nothing of the
// run.
import { createHash } from 'node:crypto'
import {
  asParleyError,
  err,
  machineFaultText,
  ok,
  ParleyError,
  type Principal,
  type Result,
  type RunId,
  type RunKey,
  type RunRequest,
  refuse,
  unwrap,
} from '@parley/core'
import { expandHighway, type HighwayDraft, type RunHandle } from '@parley/kernel'
import { GATE_TYPES } from '@parley/trail/events'
import type { EndedSetup, RunSetup, TeamSetup } from '../contract.ts'
import type { Coordinator } from '../coordinator.ts'
import { given } from '../given.ts'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import { isOfFolders } from '../machine/machine.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { NO_TEAM, planFor } from '../team/team.ts'
import { ActiveRuns } from './active-runs.ts'
import { StartBreaker } from './breakers.ts'
import { limited, misfit } from './check-request.ts'
import type { RunFacts } from './facts.ts'
import { intentMail } from './known-end.ts'
import type { RunDrivers } from './run-drivers.ts'
import { highwayFor } from './run-highway.ts'
import { keyMark, marked } from './run-key.ts'
import type { RunsHost } from './runs-host.ts'
import { needsProject, withoutFiles } from './without-files.ts'

type Told = Pick<Coordinator, 'views' | 'records' | 'users'>

type Started = Result<{ readonly run: RunId }>

export class RunStarts {
  readonly #host: RunsHost
  readonly #drivers: Pick<RunDrivers, 'begin' | 'during' | 'end'>
  readonly #told: Told
  readonly #active: ActiveRuns
  readonly #breaker = new StartBreaker()
  /** Starts under a key that are under way. */
  readonly #starting = new Map<string, Promise<Started>>()

  constructor(host: RunsHost, drivers: Pick<RunDrivers, 'begin' | 'during' | 'end'>, told: Told) {
    this.#host = host
    this.#drivers = drivers
    this.#told = told
    this.#active = new ActiveRuns(host.drivers, host.runs ?? coordinatorDefaults.runs)
  }

  async start(request: RunRequest, setup: RunSetup): Promise<Started> {
    const refused = this.#refuse(request, setup)
    if (refused) return err(refused)
    const { ids, profile } = this.#host
    const { principal, key } = request
    const start = async (run: RunId): Promise<Started> => {
      if ('ends' in setup) return this.#startEnded(request, setup, run)
      const full = this.#active.refuse(principal.id)
      if (full) return err(full)
      const narrowed = { ...setup, team: limited(setup.team, request) }
      return this.#active.during(principal.id, () => this.#start(request, narrowed, run))
    }
    const begun = key === undefined ? start(ids.next('run') as RunId) : this.#once(principal.id, key, start)
    const started = begun
      .catch(cause => err(unusable(profile, cause)))
      .then(result => this.#startedOrHeld(result, 'ends' in setup ? undefined : setup.project))
    return this.#drivers.during(started)
  }

  /** Under a key there is one run, however often it is asked for. */
  #once(principal: string, key: RunKey, start: (run: RunId) => Promise<Started>): Promise<Started> {
    const { secret, ids } = this.#host
    const mark = keyMark(secret, principal, key.text)
    const before = this.#starting.get(mark)
    if (before) return before
    const found = this.#told.records.keyed(principal, key)
    const starting = found
      .then(run => (run ? ok({ run }) : start(marked(ids.next('run'), mark))))
      .finally(() => this.#starting.delete(mark))
    this.#starting.set(mark, starting)
    return starting
  }

  #refuse(request: RunRequest, setup: RunSetup): ParleyError | undefined {
    const { stopping, machine } = this.#host
    if (stopping.aborted) return new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    const { held } = machine
    if (held) return heldUp(held.message)
    return misfit(request, setup)
  }

  /** What the machine kept from being started can be asked for again; nothing of it is left. */
  async #startedOrHeld(result: Started, project: string | undefined): Promise<Started> {
    if (result.ok || result.error.code === 'machine_fault') return result
    const { machine, homes } = this.#host
    const { error } = result
    // What git says of a full disk is words; the disk is asked.
    const wordless = isOfFolders(error.code)
    const fault = machine.report(error) ?? (wordless ? await machine.look() : undefined)
    if (fault) return err(heldUp(machine.held!.message, error))
    const place = wordless ? await homes.writtenTo(project) : undefined
    const found = place === undefined ? undefined : await machine.inspect([place])
    return found
      ? err(heldUp(`The project cannot be worked on until its disk can be written: ${machineFaultText(found)}.`, error))
      : result
  }

  async #start(request: RunRequest, setup: TeamSetup, run: RunId): Promise<Started> {
    const { homes, gates, adapters, log, stopping, worksWithoutFolder } = this.#host
    const { intent, principal, origin, told, context: stored, key } = request
    const { team, project, owner = principal, parent, environment } = setup
    const allowed = await this.#mayStart(request, setup)
    if (!allowed.ok) return allowed
    const planned = planFor(team, intent)
    const refused = project === undefined ? needsProject(team, planned, worksWithoutFolder) : undefined
    if (refused) return err(refused)
    const plan = project === undefined ? withoutFiles(planned) : planned
    const known = await this.#told.users.admit(principal, origin)
    if (!known.ok) return known
    const folders = await homes.create(run, project)
    if (!folders.ok) return folders
    // Copying a large project takes a while.
    if (setup.caller?.aborted) {
      await folders.value.clean()
      homes.remove(run)
      return refuse('unavailable', 'Whoever asked for the run has left before it began, so it was not started.')
    }
    const carried = [team, ...Object.values(team.agents)].flatMap(({ carry = [] }) => carry)
    const uncarried = carried.length > 0 ? await folders.value.uncarried([...new Set(carried)]) : ok([])
    const { approves } = known.value
    const { highway, approval } = highwayFor(setup, plan, gates, approves)
    const { escalation, gates: opened } = unwrap(expandHighway(highway))
    const facts: RunFacts = {
      intent,
      team,
      plan,
      principal: principal.id,
      origin,
      approval,
      gates: GATE_TYPES.filter(type => opened[type].on),
      questions: { timeout: escalation.timeout, fallback: escalation.fallback },
      ...(uncarried.ok && uncarried.value.length > 0 && { uncarried: uncarried.value }),
      ...given({
        project: folders.value.facts,
        approver: approval === 'given' && !approves && owner.id !== principal.id ? owner.id : undefined,
        parent,
        context: told?.length ? told : undefined,
        stored,
        key: key?.text,
      }),
    }
    const started = await this.#begin(run, owner, highway, facts)
    if (!started.ok) {
      await folders.value.clean()
      homes.remove(run)
      return started
    }
    if (environment) adapters.setEnvironment(run, environment)
    // The node stops: the next one goes on with it.
    if (!stopping.aborted) await this.#drivers.begin(started.value, facts, folders.value)
    log('info', `started ${run}`, { run, team: team.name, principal: principal.id })
    return ok({ run })
  }

  /** Nothing is prepared for it, and nothing stays at work. */
  async #startEnded(
    request: RunRequest,
    { ends, owner = request.principal }: EndedSetup,
    run: RunId,
  ): Promise<Started> {
    const { intent, principal, origin, context: stored, key } = request
    const known = await this.#told.users.admit(principal, origin)
    if (!known.ok) return known
    const facts: RunFacts = {
      intent,
      team: NO_TEAM,
      plan: [],
      principal: principal.id,
      origin,
      approval: 'given',
      questions: { timeout: null, fallback: 'abort' },
      ends,
      ...given({ stored, key: key?.text }),
    }
    const started = await this.#begin(run, owner, { gates: { task_approval: false } }, facts)
    if (!started.ok) return started
    if (!this.#host.stopping.aborted) {
      // Its end releases it.
      const { recent } = this.#host.trail.readable(run)
      await this.#drivers.end(started.value, ends)
      this.#told.records.keepWritten(run, recent)
    }
    this.#host.log('debug', `started ${run}, which has ended`, { run, principal: principal.id })
    return ok({ run })
  }

  /** Its first entries: the root, and the principal's intent in its mail. */
  async #begin(run: RunId, owner: Principal, highway: HighwayDraft, facts: RunFacts): Promise<Result<RunHandle>> {
    const { runtime } = this.#host
    const wish = { user: facts.principal, mail: intentMail(facts.intent) }
    const started = await runtime.start({ owner: owner.id, highway, context: { ...facts } }, run, wish)
    if (started.ok) {
      await this.#told.records.begun(run, facts)
      return started
    }
    // It may have begun all the same: nobody was told so, and nobody shall find it at work.
    const begun = runtime.active.includes(run) ? await runtime.open(run) : undefined
    if (begun?.ok) await begun.value.stop()
    return started
  }

  /** Runs that agents start, and runs that something starts again and again, are bounded. */
  async #mayStart({ intent, key: once }: RunRequest, setup: TeamSetup): Promise<Result<void>> {
    const { team, project, parent, force = once !== undefined } = setup
    // An intent may be long, and thousands of starts are remembered.
    const key = createHash('sha256')
      .update(JSON.stringify([intent, team.name, project]))
      .digest('base64')
    const now = this.#host.clock.now()
    const above = parent && { run: parent, depth: await this.#depth(parent) }
    const open = this.#breaker.refuse(key, above, now, force)
    if (open) return err(open)
    this.#breaker.note(key, parent, now)
    return ok(undefined)
  }

  /** How many runs stand above one, itself included. */
  async #depth(run: RunId): Promise<number> {
    let depth = 0
    for (let each: RunId | undefined = run; each !== undefined && depth <= coordinatorLimits.startedDepth; depth++) {
      const projection: Result<RunProjection> = await this.#told.views.readable(each)
      each = (projection.ok ? projection.value.facts?.parent : undefined) as RunId | undefined
    }
    return depth
  }
}

/** Nothing is lost: nothing was begun. */
function heldUp(message: string, cause?: ParleyError): ParleyError {
  return new ParleyError('machine_fault', `${message} Nothing was started; ask again then.`, {
    retryable: true,
    ...(cause && { cause }),
  })
}

function unusable(profile: string, cause: unknown): ParleyError {
  const { message } = asParleyError(cause)
  return new ParleyError('profile_unusable', `The run could not be prepared in ${profile}: ${message}`, { cause })
}
