// The house run of a profile: the node coordinates it, users live in it, and what belongs to no live run is recorded in
// it. A successor begins with the users of the house before it.
import type { Result, RunId } from '@parley/core'
import type { ProposedEntry, ReadableRun } from '@parley/trail'
import type { Command } from '../command.ts'
import type { Run } from '../run/run.ts'
import { carriedUsers } from '../user/evolve.ts'
import { HOUSE_KEY, type StandingHost, StandingRun } from './standing-run.ts'

export class House {
  readonly #standing: StandingRun

  private constructor(standing: StandingRun) {
    this.#standing = standing
  }

  static async open(host: StandingHost, unfinished: readonly RunId[], limit: number): Promise<House> {
    const carried = async (previous: { readonly run: RunId } | null) => {
      const users = previous ? await host.read(previous.run, carriedUsers) : []
      return users.length > 0 ? { users } : {}
    }
    return new House(await StandingRun.open(host, { key: HOUSE_KEY, carried }, unfinished, limit))
  }

  get run(): RunId {
    return this.#standing.run
  }

  trails(): Promise<readonly ReadableRun[]> {
    return this.#standing.trails()
  }

  record(entries: readonly ProposedEntry[]): Promise<Result<void>> {
    return this.submit({ type: 'record', entries: entries.map(atHouse) })
  }

  submit<T>(command: Command): Promise<Result<T>> {
    return this.#standing.submit(command)
  }

  read<T>(reader: (state: Run) => T): Promise<T> {
    return this.#standing.read(reader)
  }
}

/** Workspaces and roles of other runs do not exist here: the node is the actor, and the body names them. */
function atHouse(entry: ProposedEntry): ProposedEntry {
  const filed = { ...entry, workspace: null, actor: entry.actor === 'protocol' ? 'protocol' : 'system' }
  if (filed.event_type !== 'capability_denied') return filed
  // A person is the same everywhere.
  if (filed.body.user_id !== null) return { ...filed, actor: filed.body.user_id }
  const owner = entry.workspace === null ? {} : { workspace: entry.workspace }
  return { ...filed, body: { ...filed.body, ...owner, role: entry.actor } }
}
