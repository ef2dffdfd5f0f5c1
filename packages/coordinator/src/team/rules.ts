// What a schema cannot say about a team file: names that must exist once, plans that lead somewhere, agents that can be
// started. It looks at whatever is there, so that one reading finds as many mistakes as it can.
import { durationPattern, parseDuration, planCommand } from '@parley/agents'
import { type AgentFile, AgentSchema } from './agent-fields.ts'
import { teamLimits } from './limits.ts'
import { findCycles } from './order.ts'
import type { Finding, Path, TeamProblemCode } from './problem.ts'
import { shapeFindings } from './shape.ts'
import { type Entry, type Located, member, plain } from './source.ts'
import { didYouMean, listed, quote, visible } from './words.ts'

interface Word {
  readonly text: string
  readonly at: number
  readonly path: Path
}

/** A task as far as the rules need it; what is missing or of another type is the business of the shape. */
interface Task {
  readonly id: Word | undefined
  readonly agent: Word | undefined
  readonly reviewer: Word | undefined
  readonly needs: readonly Word[]
}

export interface Ruled {
  readonly problems: readonly Finding[]
  readonly warnings: readonly Finding[]
}

export function ruleFindings(root: Located): Ruled {
  const rules = new Rules(root)
  rules.check()
  return rules
}

export const INTENT = '{intent}'

const durationForm = new RegExp(durationPattern)

class Rules {
  readonly problems: Finding[] = []
  readonly warnings: Finding[] = []
  readonly #root: Located
  readonly #agents: ReadonlyMap<string, Entry>
  readonly #plan: Located | undefined

  constructor(root: Located) {
    this.#root = root
    const agents = member(root, 'agents')?.value
    this.#agents = new Map(agents?.kind === 'map' ? agents.entries.map(entry => [entry.key, entry]) : [])
    this.#plan = member(root, 'plan')?.value
  }

  check(): void {
    for (const agent of this.#agents.values()) this.#checkAgent(agent)
    this.#checkTimeout(member(this.#root, 'limits')?.value, ['limits'])
    if (this.#plan === undefined) this.#checkSolo()
    // A list that is too long has been refused for that.
    if (this.#plan?.kind === 'list' && this.#plan.items.length <= teamLimits.tasks)
      this.#checkPlan(this.#plan.items)
  }

  /** What a command agent may be is for @parley/agents to say; its message begins with the field that it is about. */
  #checkAgent({ key, at, value }: Entry): void {
    if (value.kind !== 'map' || shapeFindings(value, AgentSchema).length > 0) return
    const path = ['agents', key]
    if (!member(value, 'command') && !member(value, 'preset')) {
      const message = () => `The agent ${quote(key)} cannot be started: give it a 'command' or a 'preset'.`
      this.#refuse('missing_key', at, [...path, 'command'], message)
      return
    }
    const { slots: _, ...fields } = plain(value) as AgentFile
    const planned = planCommand(fields)
    if (planned.ok) return
    const [, name = '', reason] = /^(\w+): (.*)$/s.exec(planned.error.message) ?? []
    const field = member(value, name)
    const message = () => visible(field ? `${quote(name)}: ${reason}` : planned.error.message)
    this.#refuse('bad_value', field?.value.at ?? at, field ? [...path, name] : path, message)
  }

  #checkProgram(command: Located | undefined, path: Path): void {
    const [program] = command?.kind === 'list' ? command.items : []
    if (program?.kind !== 'scalar' || program.value !== '') return
    this.#refuse('bad_value', program.at, path, () => 'The first word is the program; it is empty.')
  }

  /** What has the right form and is still too little or too much. */
  #checkTimeout(map: Located | undefined, path: Path): void {
    const timeout = wordOf(member(map, 'timeout')?.value, [...path, 'timeout'])
    if (!timeout || !durationForm.test(timeout.text)) return
    const milliseconds = parseDuration(timeout.text) ?? Infinity
    if (milliseconds >= 1 && milliseconds <= teamLimits.durationMs) return
    const most = `${teamLimits.durationMs / (24 * 60 * 60_000)}d`
    this.#refuse(
      'bad_value',
      timeout.at,
      timeout.path,
      () => `${quote(timeout.text)} is not between 1ms and ${most}.`,
    )
  }

  #checkSolo(): void {
    const agents = member(this.#root, 'agents')
    if (!agents || this.#agents.size < 2) return
    const message = () =>
      `There are ${this.#agents.size} agents and no 'plan', so nobody knows who does what. Add a plan, or keep one agent.`
    this.#refuse('plan_missing', agents.at, ['plan'], message)
  }

  #checkPlan(items: readonly Located[]): void {
    const tasks = items.map((item, index) => this.#readTask(item, index))
    const ids = this.#checkIds(tasks)
    for (const task of tasks) {
      for (const name of [task.agent, task.reviewer]) if (name) this.#checkAgentName(name)
      for (const need of task.needs) this.#checkNeed(need, ids)
      if (task.reviewer && task.reviewer.text === task.agent?.text) {
        const { text, at, path } = task.reviewer
        const message = () => `The agent ${quote(text)} reviews its own work. Another agent would see more.`
        this.warnings.push({ code: 'reviews_itself', at, path, message })
      }
    }
    this.#checkCycles(tasks)
    this.#checkUnused(tasks)
  }

  #readTask(item: Located, index: number): Task {
    const path = ['plan', index]
    const word = (key: string) => wordOf(member(item, key)?.value, [...path, key])
    const review = member(item, 'review')?.value
    const needs = member(item, 'needs')?.value
    this.#checkTimeout(item, path)
    this.#checkProgram(member(item, 'check')?.value, [...path, 'check', 0])
    this.#checkIntents(word('prompt'))
    this.#checkIntents(wordOf(member(review, 'prompt')?.value, [...path, 'review', 'prompt']))
    return {
      id: word('id'),
      agent: word('agent'),
      reviewer: wordOf(member(review, 'by')?.value, [...path, 'review', 'by']),
      needs:
        needs?.kind === 'list' && needs.items.length <= teamLimits.tasks
          ? needs.items.flatMap((need, at) => wordOf(need, [...path, 'needs', at]) ?? [])
          : [],
    }
  }

  #checkIntents(prompt: Word | undefined): void {
    if (!prompt || prompt.text.split(INTENT).length - 1 <= teamLimits.promptIntents) return
    const message = () => `The prompt holds ${INTENT} more than ${teamLimits.promptIntents} times.`
    this.#refuse('too_large', prompt.at, prompt.path, message)
  }

  #checkIds(tasks: readonly Task[]): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const { id } of tasks) {
      if (!id) continue
      const message = () =>
        `Another task before this one has the id ${quote(id.text)}. Give each task its own.`
      if (ids.has(id.text)) this.#refuse('duplicate_id', id.at, id.path, message)
      ids.add(id.text)
    }
    return ids
  }

  #checkAgentName({ text, at, path }: Word): void {
    if (this.#agents.has(text) || this.#agents.size === 0) return
    const names = [...this.#agents.keys()]
    const message = () =>
      `There is no agent ${quote(text)}.${didYouMean(text, names) || ` The agents are ${listed(names)}.`}`
    this.#refuse('unknown_agent', at, path, message)
  }

  #checkNeed({ text, at, path }: Word, ids: ReadonlySet<string>): void {
    if (ids.has(text)) return
    const message = () => `There is no task with the id ${quote(text)}.${didYouMean(text, ids)}`
    this.#refuse('unknown_task', at, path, message)
  }

  #checkCycles(tasks: readonly Task[]): void {
    // Of tasks with the same id the first counts: the second is refused anyway.
    const first = new Map<string, Task>()
    for (const task of tasks) if (task.id && !first.has(task.id.text)) first.set(task.id.text, task)
    const steps = [...first].map(([id, { needs }]) => ({ id, needs: needs.map(need => need.text) }))
    for (const cycle of findCycles(steps)) {
      const [back, from] = [cycle.at(-1)!, cycle.at(-2)!]
      const { at, path } = first.get(from)!.needs.find(need => need.text === back)!
      const message = () =>
        cycle.length === 2
          ? `The task ${quote(back)} needs itself, so it could never start.`
          : `These tasks wait for each other, so none could start: ${listed(cycle, ' → ')}. Take one of the needs away.`
      this.#refuse('cycle', at, path, message)
    }
  }

  #checkUnused(tasks: readonly Task[]): void {
    const used = new Set(tasks.flatMap(({ agent, reviewer }) => [agent?.text, reviewer?.text]))
    for (const { key, at } of this.#agents.values()) {
      if (used.has(key)) continue
      const message = () => `No task of the plan uses the agent ${quote(key)}.`
      this.warnings.push({ code: 'unused_agent', at, path: ['agents', key], message })
    }
  }

  #refuse(code: TeamProblemCode, at: number, path: Path, message: () => string): void {
    this.problems.push({ code, at, path, message })
  }
}

function wordOf(value: Located | undefined, path: Path): Word | undefined {
  if (value?.kind !== 'scalar' || typeof value.value !== 'string') return undefined
  return { text: value.value, at: value.at, path }
}
