// Makes the folder of a turn ready: the files of the last checkpoint, the ignored files that come along, and what setup
// makes of them. Setup runs once in a folder; what it made stays when the folder is made anew.
import { commandText } from '@parley/agents'
import { ParleyError, pause, type Result, type TurnResult, unwrap, type WorkspaceId } from '@parley/core'
import { coordinatorDefaults, coordinatorLimits } from '../limits.ts'
import type { WorkspaceFacts } from '../run/facts.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import type { Furnishing, Setup } from '../team/folder-fields.ts'
import { nameOf } from './identities.ts'
import type { Turn } from './turn.ts'
import { bothEnds, failedCommand, printed, tellingLines } from './turn-text.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

export const SETUP_FAILED = 'setup_failed'

/** The folder of a turn; undefined where the run has none. */
export type Place = string | undefined

/** Where the disk of a turn is looked at. */
export function placesOf(folder: Place): readonly string[] {
  return folder === undefined ? [] : [folder]
}

export interface Ready {
  readonly folder: Place
  /** No turn can be taken there. */
  readonly failed?: ParleyError
}

interface Waiting {
  readonly turn: Turn
  /** From now on the turn can be seen, and ended. */
  readonly begin: () => void
  readonly signal: AbortSignal
}

export async function readyFolder(
  host: RunAtWork,
  record: WorkspaceRecord,
  { turn, begin, signal }: Waiting,
): Promise<Ready> {
  const { folders, clock } = host
  const { workspace, facts } = record
  const { who, setup, carry } = furnishingFor(host, facts)
  const key = setup ? JSON.stringify([who, ...setup.run]) : ''
  const carried = carry ? { carry } : {}
  const commit = await record.lastCommit()
  for (let tried = 1; ; tried++) {
    const folder = unwrap(await folders.prepare(workspace, commit, { ...carried, setup: key }))
    if (folder === undefined || !setup || (await folders.isSetUp(workspace, key))) return { folder }
    begin()
    const { adapter, log } = host.setup(workspace, setup)
    const began = clock.now()
    const result = await turn.setUp(adapter, folder, commandText(setup.run)).finally(() => adapter.close())
    const error = result.outcome === 'complete' ? await keep(host, workspace, commit, key) : whyOf(result)
    if (!error) {
      const ms = Math.max(0, Math.round((clock.now() - began) / 1000))
      await record.setUp({ command: setup.run, wall_ms: ms })
      return { folder }
    }
    if (turn.ended) return { folder, failed: error }
    // What ended with an error may have met a registry that was away; what took too long would do so again.
    if (error.code !== 'exit_nonzero' || tried > 1) {
      // Two versions of a lock file between marks cannot be set up: whoever makes one of them goes on without.
      if (facts.kind === 'merge') return { folder: unwrap(await folders.prepare(workspace, commit, carried)) }
      const details = { ...error.details, ofWork: isOfWork(host, facts, setup) }
      return { folder, failed: new ParleyError(SETUP_FAILED, failureText(setup, folder, log, error), { details }) }
    }
    await pause(clock, coordinatorDefaults.setupRetry, signal)
  }
}

/** Undefined if it is kept; too much that git does not ignore is a fault of the setup. */
async function keep(host: RunAtWork, workspace: WorkspaceId, commit: string, key: string) {
  const kept: Result<void> = await host.folders.keepSetup(workspace, commit, key)
  if (!kept.ok && kept.error.code === 'capture_too_large') return kept.error
  return unwrap(kept)
}

function whyOf(result: TurnResult): ParleyError {
  if (result.outcome === 'failed') return result.error
  // The exit code of a program that asks to be run later.
  return new ParleyError('exit_nonzero', result.outcome === 'blocked' ? result.reason : '')
}

function failureText({ run }: Setup, folder: string, log: string, error: ParleyError): string {
  const end = bothEnds(tellingLines(printed(error)), coordinatorLimits.setupTailLength)
  return `Setup: ${failedCommand(commandText(run), error)} in ${folder}.\nThe whole log: ${log}${end === '' ? '' : `\n\n${end}`}`
}

/**
 * Whether the work itself is why setup fails in the folder of its judge: the same setup had no trouble where the work
 * began.
 */
function isOfWork(host: RunAtWork, facts: WorkspaceFacts, { run }: Setup): boolean {
  if (!('of' in facts) || facts.kind === 'merge') return false
  const author = host.projection.workspaces.get(facts.of as WorkspaceId)?.facts
  const theirs = author && furnishingFor(host, author).setup
  return theirs !== undefined && commandText(theirs.run) === commandText(run)
}

/** An agent's own; a check has that of the agent whose work it judges, and the work of a team that of the team file. */
function furnishingFor(
  { projection, facts: { team } }: RunAtWork,
  facts: WorkspaceFacts,
): Furnishing & { who: string } {
  const about = facts.kind === 'check' ? (projection.workspaces.get(facts.of as WorkspaceId)?.facts ?? facts) : facts
  const who = nameOf(about.agent)
  const { setup, carry }: Furnishing = projection.agentConfig(who) ?? team
  return { who, ...(setup && { setup }), ...(carry && { carry }) }
}
