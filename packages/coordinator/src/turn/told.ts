// What the agent of a turn is told, as it is kept with the turn for people who look at it later.
import { promptText } from '@parley/agents'
import { coordinatorLimits } from '../limits.ts'
import type { RunAtWork } from '../run/run-parts.ts'
import { nameOf } from './identities.ts'
import type { Brief, Told } from './prompt.ts'
import type { WorkspaceRecord } from './workspace-record.ts'

export interface ToldRecord {
  readonly agent: string
  readonly text: string
  /** All that it is told if its program goes on with the conversation of the turn before. */
  readonly news?: string
}

/** Undefined for an agent that is told nothing, such as a check, or that is not there: its turn says so. */
export function toldRecord(
  { projection, adapter }: RunAtWork,
  { facts, task }: WorkspaceRecord,
  brief: Brief,
  session: string | undefined,
): ToldRecord | undefined {
  let told: Told
  try {
    told = brief(adapter(facts, task, projection.agentConfig(nameOf(facts.agent))).reach)
  } catch {
    return undefined
  }
  if (told.prompt === '') return undefined
  const news = session === undefined ? {} : { news: bounded(promptText(told, { resumed: true })) }
  return { agent: facts.agent, text: bounded(promptText(told)), ...news }
}

function bounded(text: string): string {
  const most = coordinatorLimits.promptLength
  const more = text.length - most
  return more > 0 ? `${text.slice(0, most).toWellFormed()}\n… and ${more} more characters\n` : text.toWellFormed()
}
