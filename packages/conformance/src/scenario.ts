// The scenarios: each is a row of a sheet, told to a kit. Files in scenarios/ register theirs by being imported.
import type { RunDraft } from './drafts.ts'
import type { Level, Setup } from './host.ts'
import type { Kit } from './kit.ts'

export interface ScenarioOptions {
  /** The lowest level at which the row holds; parts of a higher level ask `kit.level`. */
  readonly level: Level
  /** The requirements that the row covers. */
  readonly rules: readonly string[]
  /** How the system is started. */
  readonly setup?: Setup
  /** How the first run is started: owner ux and no highway where nothing else is said. */
  readonly run?: RunDraft
  /** False: the scenario starts system and run itself, by `kit.open` and `kit.start`. */
  readonly opened?: boolean
  /** False: the root stays `idle`. */
  readonly active?: boolean
  /** People who are known from the start, from level 2 on: ux and uy, without capabilities, where it is left out. */
  readonly users?: readonly string[]
  /** False: the trail is damaged or forged by the scenario, so that its form is not checked at the end. */
  readonly sound?: boolean
}

export interface Scenario extends ScenarioOptions {
  /** `WP-017`. */
  readonly id: string
  readonly title: string
  readonly play: (kit: Kit) => Promise<void>
}

const registered: Scenario[] = []

/** The title begins with the row's id. A row may have several scenarios, and holds where all of them do. */
export function scenario(title: string, options: ScenarioOptions, run: (kit: Kit) => Promise<void>): void {
  const id = /^(W[PMX]-\d{3}) \S/.exec(title)?.[1]
  if (id === undefined) throw new Error(`A scenario's title begins with the id of its row: ${title}`)
  if (registered.some(each => each.title === title)) throw new Error(`There are two scenarios ${title}`)
  registered.push({ ...options, id, title, play: run })
}

/** All that were registered, by id. */
export function scenarios(): readonly Scenario[] {
  return registered.toSorted((one, other) => (one.id < other.id ? -1 : one.id > other.id ? 1 : 0))
}
