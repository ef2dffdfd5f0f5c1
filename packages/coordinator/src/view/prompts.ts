// What the agents of a run were told, turn by turn. It is in the working memory of their workspaces, where each turn
// keeps it before it starts.
import { type Static, Type, type WorkspaceId } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { coordinatorLimits } from '../limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { ToldRecord } from '../turn/told.ts'
import { TURN_MEMORY, type TurnMemory } from '../turn/turn-memory.ts'
import { closed } from './people-view.ts'

const PromptViewSchema = closed({
  task: Type.String(),
  workspace: Type.String(),
  agent: Type.String(),
  /** Counted in the workspace; a turn that died and was taken again has another number. */
  turn: Type.Integer({ minimum: 1 }),
  /** As it was written for the agent; its last line says if it was cut. */
  text: Type.String(),
})

export const PromptsViewSchema = closed({
  prompts: Type.Array(PromptViewSchema),
  /** Older ones for which there was no room. */
  left_out: Type.Integer({ minimum: 0 }),
})
export type PromptsView = Static<typeof PromptsViewSchema>

interface Kept {
  readonly workspace: WorkspaceId
  readonly turn: number
  readonly told: ToldRecord
}

/** Collects them while a run is replayed; the newest, as far as there is room. */
export class Prompts {
  readonly #kept: Kept[] = []
  #length = 0
  #leftOut = 0

  see({ kind, value }: TrailObject): void {
    // Content that is lost is undefined.
    if (kind !== 'memory' || value === undefined) return
    const { workspace, key, value: memory } = value as MemoryValue
    if (key !== TURN_MEMORY || !memory?.told) return
    this.#kept.push({ workspace, turn: memory.epoch, told: memory.told })
    this.#length += lengthOf(memory.told)
    while (this.#length > coordinatorLimits.promptsLength) {
      this.#length -= lengthOf(this.#kept.shift()!.told)
      this.#leftOut++
    }
  }

  view(projection: RunProjection): PromptsView {
    const prompts = this.#kept.flatMap(({ workspace, turn, told }) => {
      const { facts, checkpoints = [] } = projection.workspaces.get(workspace) ?? {}
      if (!facts) return []
      const session = checkpoints.find(each => each.turn?.epoch === turn && each.turn.session)?.turn?.session
      // A program that could not go on with its conversation was told everything.
      const text = session?.resumed === false ? told.text : (told.news ?? told.text)
      return [{ task: facts.task, workspace, agent: told.agent, turn, text }]
    })
    return { prompts, left_out: this.#leftOut }
  }
}

interface MemoryValue {
  readonly workspace: WorkspaceId
  readonly key: string
  readonly value?: TurnMemory
}

function lengthOf({ text, news = '' }: ToldRecord): number {
  return text.length + news.length
}
