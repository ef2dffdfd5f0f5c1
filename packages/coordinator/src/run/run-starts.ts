// Starts runs: who may, once for each key; the folders, the highway, the first entries. A refusal leaves nothing of the
// run.
import {
  asParleyError,
  err,
  machineFaultText,
  ok,
  ParleyError,
  type Result,
  type RunId,
  type RunKey,
  type RunRequest,
  refuse,
  unwrap,
} from '@parley/core'
import { expandHighway } from '@parley/kernel'
import { GATE_TYPES } from '@parley/trail/events'
import type { RunSetup } from '../contract.ts'
import type { Coordinator } from '../coordinator.ts'
import { RunFolders } from '../folder/run-folders.ts'
import { given } from '../given.ts'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import { isOfFolders } from '../machine/machine.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { planFor } from '../team/team.ts'
import { ActiveRuns } from './active-runs.ts'
import { StartBreaker } from './breakers.ts'
import { limited, misfit } from './check-request.ts'
import type { RunFacts } from './facts.ts'
import type { RunDrivers } from './run-drivers.ts'
import { highwayFor } from './run-highway.ts'
import { keyMark, marked } from './run-key.ts'
import type { RunsHost } from './runs-host.ts'

type Told = Pick<Coordinator, 'views' | 'records' | 'users'>

type Started = Result<{ readonly run: RunId }>

export class RunStarts {
  readonly #host: RunsHost
  readonly #drivers: Pick<RunDrivers, 'begin' | 'during'>
  readonly #told: Told
  readonly #active: ActiveRuns
  readonly #breaker = new StartBreaker()
  /** Starts under a key that are under way. */
  readonly #starting = new Map<string, Promise<Started>>()

  constructor(host: RunsHost, drivers: Pick<RunDrivers, 'begin' | 'during'>, told: Told) {
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
      const full = this.#active.refuse(principal.id)
      if (full) return err(full)
      const narrowed = { ...setup, team: limited(setup.team, request) }
      return this.#active.during(principal.id, () => this.#start(request, narrowed, run))
    }
    const begun = key === undefined ? start(ids.next('run') as RunId) : this.#once(principal.id, key, start)
    const started = begun
      .catch(cause => err(unusable(profile, cause)))
      .then(result => this.#startedOrHeld(result, setup.project))
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

  #refuse(request: RunRequest, { team }: RunSetup): ParleyError | undefined {
    const { stopping, machine } = this.#host
    if (stopping.aborted) return new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
    const { held } = machine
    if (held) return heldUp(held.message)
    return misfit(request, team)
  }

  /** What the machine kept from being started can be asked for again; nothing of it is left. */
  async #startedOrHeld(result: Started, project: string): Promise<Started> {
    if (result.ok || result.error.code === 'machine_fault') return result
    const { machine, clock } = this.#host
    const { error } = result
    // What git says of a full disk is words; the disk is asked.
    const wordless = isOfFolders(error.code)
    const fault = machine.report(error) ?? (wordless ? await machine.look() : undefined)
    if (fault) return err(heldUp(machine.held!.message, error))
    const place = wordless ? await RunFolders.writtenTo(project, clock) : undefined
    const found = place === undefined ? undefined : await machine.inspect([place])
    return found
      ? err(heldUp(`The project cannot be worked on until its disk can be written: ${machineFaultText(found)}.`, error))
      : result
  }

  async #start(request: RunRequest, setup: RunSetup, run: RunId): Promise<Started> {
    const { homes, gates, runtime, adapters, log, stopping } = this.#host
    const { intent, principal, origin, told, context: stored, key } = request
    const { team, project, approved, owner = principal, parent, environment } = setup
    const allowed = await this.#mayStart(request, setup)
    if (!allowed.ok) return allowed
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
    const highway = highwayFor(setup, gates, known.value.approves)
    const { escalation, gates: opened } = unwrap(expandHighway(highway))
    const facts: RunFacts = {
      intent,
      team,
      plan: planFor(team, intent),
      project: folders.value.facts,
      principal: principal.id,
      origin,
      approval: approved ? 'given' : 'ask',
      gates: GATE_TYPES.filter(type => opened[type].on),
      questions: { timeout: escalation.timeout, fallback: escalation.fallback },
      ...(uncarried.ok && uncarried.value.length > 0 && { uncarried: uncarried.value }),
      ...given({ parent, context: told?.length ? told : undefined, stored, key: key?.text }),
    }
    const started = await runtime.start({ owner: owner.id, highway, context: { ...facts } }, run)
    if (!started.ok) {
      // It may have begun all the same: nobody was told so, and nobody shall find it at work.
      const begun = runtime.active.includes(run) ? await runtime.open(run) : undefined
      if (begun?.ok) await begun.value.stop()
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

  /** Runs that agents start, and runs that something starts again and again, are bounded. */
  async #mayStart({ intent, key: once }: RunRequest, setup: RunSetup): Promise<Result<void>> {
    const { team, project, parent, force = once !== undefined } = setup
    const key = JSON.stringify([intent, team.name, project])
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
