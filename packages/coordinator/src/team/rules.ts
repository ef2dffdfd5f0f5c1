// What a schema cannot say about a team file: names that must exist once, plans without cycles, agents that can start.
// One reading finds as many mistakes as it can.
import { agentLimits, kindOf } from '@parley/agents'
import { type AgentKind, compileGlobs, durationPattern, parseBytes, parseDuration } from '@parley/core'
import { type Located, member, plain } from '@parley/core/yaml'
import { type AgentFile, ownFields, strangeFields } from './agent-fields.ts'
import { teamLimits } from './limits.ts'
import { type Word, wordOf, wordsOf } from './located-words.ts'
import { findCycles } from './order.ts'
import type { Finding, Path, TeamProblemCode } from './problem.ts'
import { didYouMean, either, listed, quote, visible } from './words.ts'

/** A task as far as the rules need it; what is missing or of another type is the business of the shape. */
interface Task {
  readonly item: Located
  readonly path: Path
  readonly id: Word | undefined
  readonly agent: Word | undefined
  readonly reviewer: Word | undefined
  readonly integrator: Word | undefined
  readonly fallback: readonly Word[]
  readonly reviewers: readonly Word[]
  readonly salvager: Word | undefined
  readonly needs: readonly Word[]
  /** Tasks of a plan of its own. */
  readonly parts: readonly Task[]
}

interface KnownAgents {
  readonly kinds: readonly AgentKind[]
  /** Whether it has the shape of an agent. */
  readonly isAgent: (value: Located) => boolean
}

export function ruleFindings(root: Located, known: KnownAgents): Pick<Rules, 'problems' | 'warnings'> {
  const rules = new Rules(root, known)
  rules.check()
  return rules
}

export const INTENT = '{intent}'

const durationForm = new RegExp(durationPattern)

type Entry = Extract<Located, { readonly kind: 'map' }>['entries'][number]

class Rules {
  readonly problems: Finding[] = []
  readonly warnings: Finding[] = []
  readonly #root: Located
  readonly #known: KnownAgents
  readonly #agents: ReadonlyMap<string, Entry>
  readonly #plan: Located | undefined

  constructor(root: Located, known: KnownAgents) {
    this.#root = root
    this.#known = known
    const agents = member(root, 'agents')?.value
    this.#agents = new Map(agents?.kind === 'map' ? agents.entries.map(entry => [entry.key, entry]) : [])
    this.#plan = member(root, 'plan')?.value
  }

  check(): void {
    for (const agent of this.#agents.values()) this.#checkAgent(agent)
    const limits = member(this.#root, 'limits')?.value
    this.#checkTimeout(limits, ['limits'])
    this.#checkGrace(limits, ['limits'])
    this.#checkBudget(member(limits, 'budget')?.value, ['limits', 'budget'])
    this.#checkGates()
    this.#checkFurnishing(this.#root, [])
    this.#checkMerge(member(this.#root, 'merge')?.value, ['merge'])
    if (this.#plan === undefined) this.#checkSolo()
    // A list that is too long has been refused for that.
    if (this.#plan?.kind === 'list' && this.#plan.items.length <= teamLimits.tasks) this.#checkPlan(this.#plan.items)
  }

  /** What an agent may be is for its kind to say. */
  #checkAgent({ key, at, value }: Entry): void {
    const { kinds, isAgent } = this.#known
    if (value.kind !== 'map' || !isAgent(value)) return
    const path = ['agents', key]
    this.#checkTimeout(value, path, agentLimits.timeoutMs)
    this.#checkFurnishing(value, path)
    const file = plain(value) as AgentFile
    const fields = ownFields(file)
    const kind = kindOf(kinds, fields)
    if (!kind) {
      const marks = kinds.flatMap(each => each.marks)
      const message = () => `The agent ${quote(key)} cannot be started: give it ${either(marks.map(quote))}.`
      this.#refuse('missing_key', at, [...path, marks[0]!], message)
      return
    }
    const mark = kind.marks.find(each => Object.hasOwn(fields, each))!
    const strange = strangeFields(kind, Object.keys(file))
    for (const name of strange) {
      const message = () =>
        `An agent with ${quote(mark)} has no ${quote(name)}. Leave out either ${quote(mark)} or ${quote(name)}.`
      this.#refuse('bad_value', member(value, name)!.value.at, [...path, name], message)
    }
    if (strange.length > 0) return
    const read = kind.read(fields)
    if (read.ok) return
    const { field: name = '', reason } = read.error
    const field = member(value, name)
    const message = () => visible(field ? `${quote(name)}: ${reason}` : reason)
    this.#refuse('bad_value', field?.value.at ?? at, field ? [...path, name] : path, message)
  }

  #checkFurnishing(map: Located, path: Path): void {
    const setup = member(map, 'setup')?.value
    this.#checkProgram(setup, [...path, 'setup', 0])
    this.#checkProgram(member(setup, 'run')?.value, [...path, 'setup', 'run', 0])
    this.#checkTimeout(setup, [...path, 'setup'], agentLimits.timeoutMs)
    this.#checkPaths(member(map, 'carry')?.value, [...path, 'carry'])
  }

  #checkProgram(command: Located | undefined, path: Path): void {
    const [program] = command?.kind === 'list' ? command.items : []
    if (program?.kind !== 'scalar' || program.value !== '') return
    this.#refuse('bad_value', program.at, path, () => 'The first word is the program; it is empty.')
  }

  /** What has the right form and is still too little or too much. */
  #checkTimeout(map: Located | undefined, path: Path, mostMs: number = teamLimits.durationMs): void {
    const timeout = wordOf(member(map, 'timeout')?.value, [...path, 'timeout'])
    if (!timeout || !durationForm.test(timeout.text)) return
    const milliseconds = parseDuration(timeout.text) ?? Infinity
    if (milliseconds >= 1 && milliseconds <= mostMs) return
    const most = `${mostMs / (24 * 60 * 60_000)}d`
    this.#refuse('bad_value', timeout.at, timeout.path, () => `${quote(timeout.text)} is not between 1ms and ${most}.`)
  }

  /** It is the last part of a timeout, and somebody must be there to be told. */
  #checkGrace(map: Located | undefined, path: Path): void {
    const grace = wordOf(member(map, 'grace')?.value, [...path, 'grace'])
    if (!grace || !durationForm.test(grace.text)) return
    const timeout = wordOf(member(map, 'timeout')?.value, [])
    const [most, milliseconds] = [parseDuration(timeout?.text ?? ''), parseDuration(grace.text) ?? Infinity]
    const message = member(map, 'plan')
      ? `A task with a plan has no agent that could be asked to finish. Give its parts a 'grace'.`
      : !timeout
        ? `'grace' is the last part of a 'timeout'; there is none here. Add one.`
        : milliseconds < 1
          ? `${quote(grace.text)} leaves no time to finish.`
          : most !== undefined && milliseconds >= most
            ? `${quote(grace.text)} must be shorter than the timeout, ${quote(timeout.text)}.`
            : undefined
    if (message !== undefined) this.#refuse('bad_value', grace.at, grace.path, () => message)
  }

  #checkSolo(): void {
    const agents = member(this.#root, 'agents')
    if (!agents || this.#agents.size < 2) return
    const message = () =>
      `There are ${this.#agents.size} agents and no 'plan', so nobody knows who does what. Add a plan, or keep one agent.`
    this.#refuse('plan_missing', agents.at, ['plan'], message)
  }

  #checkPlan(items: readonly Located[]): void {
    const tasks = items.map((item, index) => this.#readTask(item, ['plan', index], 1))
    const all = [...everyTask(tasks)]
    if (all.length > teamLimits.tasks) {
      const message = () => `The plan has ${all.length} tasks in all; at most ${teamLimits.tasks} are allowed.`
      this.#refuse('too_large', this.#plan!.at, ['plan'], message)
    }
    this.#checkIds(all)
    for (const task of all) {
      for (const name of agentsIn(task)) this.#checkAgentName(name)
      this.#checkDoer(task)
      this.#checkFallback(task)
      for (const { text, at, path } of [task.reviewer ?? [], task.reviewers].flat()) {
        if (text !== task.agent?.text) continue
        const message = () => `The agent ${quote(text)} reviews its own work. Another agent would see more.`
        this.warnings.push({ code: 'reviews_itself', at, path, message })
      }
    }
    this.#checkLevel(tasks)
    this.#checkUnused(all)
  }

  /** Tasks wait for others of the same plan only: those of a nested plan are nothing to the plans around it. */
  #checkLevel(tasks: readonly Task[]): void {
    const ids = new Set(tasks.flatMap(({ id }) => id?.text ?? []))
    for (const task of tasks) {
      for (const need of task.needs) this.#checkNeed(need, ids)
      this.#checkLevel(task.parts)
    }
    this.#checkCycles(tasks)
  }

  /** An agent with a prompt, or a plan. */
  #checkDoer({ item, path, id }: Task): void {
    if (item.kind !== 'map') return
    const [agent, plan, prompt] = ['agent', 'plan', 'prompt'].map(key => member(item, key))
    const name = id ? `The task ${quote(id.text)}` : 'This task'
    if (agent && plan) {
      const message = () => `${name} has an agent and a plan. One of them does it; leave out the other.`
      this.#refuse('bad_value', plan.at, [...path, 'plan'], message)
    } else if (!agent && !plan) {
      this.#refuse('missing_key', item.at, [...path, 'agent'], () => `The key 'agent' is missing here.`)
    }
    if (agent && !prompt)
      this.#refuse('missing_key', item.at, [...path, 'prompt'], () => `The key 'prompt' is missing here.`)
  }

  /** Whoever takes over is another than whoever could not go on. */
  #checkFallback({ item, agent, fallback, reviewer, reviewers }: Task): void {
    const [first] = fallback
    if (first && member(item, 'plan')) {
      const message = () => `A task with a plan has no agent that could be replaced. Give its parts a fallback.`
      this.#refuse('bad_value', first.at, first.path, message)
    }
    this.#checkOther(fallback, agent, 'does the task')
    this.#checkOther(reviewers, reviewer, 'is the reviewer')
  }

  #checkOther(fallback: readonly Word[], first: Word | undefined, does: string): void {
    for (const { text, at, path } of fallback) {
      if (text !== first?.text) continue
      this.#refuse('bad_value', at, path, () => `${quote(text)} ${does} already; name another agent.`)
    }
  }

  #checkBudget(budget: Located | undefined, path: Path): void {
    if (budget?.kind !== 'map') return
    for (const { key, value } of budget.entries) {
      const word = wordOf(value, [...path, key])
      if (!word) continue
      const amount = key === 'working_time' ? parseDuration(word.text) : parseBytes(word.text)
      if (amount !== 0) continue
      this.#refuse('bad_value', word.at, word.path, () => `${quote(word.text)} leaves nothing to work with.`)
    }
  }

  #checkGates(): void {
    const gates = member(this.#root, 'gates')?.value
    const approval = member(this.#root, 'approval')
    const task = member(gates, 'task_approval')
    if (!approval || !task) return
    const message = () => `'approval' and 'gates.task_approval' say the same thing twice. Keep the one that you mean.`
    this.#refuse('bad_value', task.at, ['gates', 'task_approval'], message)
  }

  /** Only an evaluated merge has an integrator, and it needs one. */
  #checkMerge(merge: Located | undefined, path: Path): Word | undefined {
    if (merge?.kind !== 'map') return undefined
    const strategy = wordOf(member(merge, 'strategy')?.value, [...path, 'strategy'])
    const by = wordOf(member(merge, 'by')?.value, [...path, 'by'])
    const evaluated = strategy?.text === 'evaluated'
    if (evaluated && !by) {
      const message = () => `An evaluated merge needs the agent that makes the result: add 'by'.`
      this.#refuse('missing_key', merge.at, [...path, 'by'], message)
    }
    if (!evaluated && by) {
      const message = () => `Only an evaluated merge is made by an agent. Set the strategy, or leave 'by' out.`
      this.#refuse('bad_value', by.at, by.path, message)
    }
    if (path.length === 1 && by) this.#checkAgentName(by)
    return by
  }

  #readTask(item: Located, path: Path, depth: number): Task {
    const word = (key: string) => wordOf(member(item, key)?.value, [...path, key])
    const review = member(item, 'review')?.value
    const needs = member(item, 'needs')?.value
    this.#checkTimeout(item, path)
    this.#checkGrace(item, path)
    this.#checkProgram(member(item, 'check')?.value, [...path, 'check', 0])
    this.#checkIntents(word('prompt'))
    this.#checkIntents(wordOf(member(review, 'prompt')?.value, [...path, 'review', 'prompt']))
    const saving = member(member(item, 'salvage')?.value, 'prompt')?.value
    this.#checkIntents(wordOf(saving, [...path, 'salvage', 'prompt']))
    this.#checkBudget(member(item, 'budget')?.value, [...path, 'budget'])
    this.#checkPaths(member(item, 'paths')?.value, [...path, 'paths'])
    const parts = depth < teamLimits.planDepth ? member(item, 'plan')?.value : undefined
    return {
      item,
      path,
      id: word('id'),
      agent: word('agent'),
      reviewer: wordOf(member(review, 'by')?.value, [...path, 'review', 'by']),
      reviewers: wordsOf(member(review, 'fallback')?.value, [...path, 'review', 'fallback']),
      needs:
        needs?.kind === 'list' && needs.items.length <= teamLimits.tasks
          ? needs.items.flatMap((need, at) => wordOf(need, [...path, 'needs', at]) ?? [])
          : [],
      integrator: this.#checkMerge(member(item, 'merge')?.value, [...path, 'merge']),
      fallback: wordsOf(member(item, 'fallback')?.value, [...path, 'fallback']),
      salvager: wordOf(member(member(item, 'salvage')?.value, 'by')?.value, [...path, 'salvage', 'by']),
      parts:
        parts?.kind === 'list' && parts.items.length <= teamLimits.tasks
          ? parts.items.map((part, index) => this.#readTask(part, [...path, 'plan', index], depth + 1))
          : [],
    }
  }

  /** What a pattern may cost, and which ones there are, is for the matcher to say. */
  #checkPaths(paths: Located | undefined, path: Path): void {
    if (paths?.kind !== 'list' || paths.items.length > teamLimits.paths) return
    const words = paths.items.flatMap((item, index) => wordOf(item, [...path, index]) ?? [])
    // What is longer has been refused for that.
    const globs = words.filter(({ text }) => text.length <= teamLimits.pathLength)
    const bad = globs.filter(glob => this.#refuseGlobs([glob.text], glob.at, glob.path))
    if (bad.length === 0) {
      const all = globs.map(({ text }) => text)
      this.#refuseGlobs(all, paths.at, path)
    }
  }

  #refuseGlobs(globs: readonly string[], at: number, path: Path): boolean {
    const compiled = compileGlobs(globs)
    if (compiled.ok) return false
    const { code, message } = compiled.error
    this.#refuse(code === 'glob_too_large' ? 'too_large' : 'bad_value', at, path, () => visible(message))
    return true
  }

  #checkIntents(prompt: Word | undefined): void {
    if (!prompt || prompt.text.split(INTENT).length - 1 <= teamLimits.promptIntents) return
    const message = () => `The prompt holds ${INTENT} more than ${teamLimits.promptIntents} times.`
    this.#refuse('too_large', prompt.at, prompt.path, message)
  }

  #checkIds(tasks: readonly Task[]): void {
    const ids = new Set<string>()
    for (const { id } of tasks) {
      if (!id) continue
      const message = () => `Another task before this one has the id ${quote(id.text)}. Give each task its own.`
      if (ids.has(id.text)) this.#refuse('duplicate_id', id.at, id.path, message)
      ids.add(id.text)
    }
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
    const all = wordOf(member(member(this.#root, 'merge')?.value, 'by')?.value, [])
    const used = new Set(tasks.flatMap(agentsIn).map(({ text }) => text))
    for (const { key, at } of this.#agents.values()) {
      if (used.has(key) || all?.text === key) continue
      const message = () => `No task of the plan uses the agent ${quote(key)}.`
      this.warnings.push({ code: 'unused_agent', at, path: ['agents', key], message })
    }
  }

  #refuse(code: TeamProblemCode, at: number, path: Path, message: () => string): void {
    this.problems.push({ code, at, path, message })
  }
}

function agentsIn({ agent, fallback, reviewer, reviewers, integrator, salvager }: Task): readonly Word[] {
  const words = [agent, ...fallback, reviewer, ...reviewers, integrator, salvager]
  return words.filter(word => word !== undefined)
}

function* everyTask(tasks: readonly Task[]): Generator<Task> {
  for (const task of tasks) {
    yield task
    yield* everyTask(task.parts)
  }
}
