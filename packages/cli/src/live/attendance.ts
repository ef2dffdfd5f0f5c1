// A person at a terminal stays with a run: its tasks stay in view, and what waits is asked below them until it is
// answered, here or elsewhere. Ctrl-C asks what shall become of the run.
import type { Team } from '@parley/node'
import type { Context } from '../command.ts'
import { asFailure } from '../failure.ts'
import type { Key } from '../keyboard.ts'
import type { NodeClient } from '../node/client.ts'
import { type DescribedAgent, type GateView, isOver, type RunView } from '../node/views.ts'
import { drawing } from '../output.ts'
import { shortId, shortIds } from '../render/format.ts'
import { liveFrame } from '../render/live.ts'
import { planDetails, planLines, warningLines } from '../render/plan.ts'
import { gateLines } from '../render/show.ts'
import type { Drawing } from '../render/tasks.ts'
import { oneLine, wrap } from '../render/text.ts'
import { gateKey, leftHeld, steadyViews } from './follow.ts'
import { answerGate, type GateAnswer, type GateChoice, gateDetails, gatePrompt, untilLines } from './gate.ts'
import { type GateWork, gateWork } from './gate-work.ts'
import { type Notify, notifier } from './notify.ts'
import { type Option, Prompt } from './prompt.ts'
import { Screen } from './screen.ts'
import { Settling } from './settling.ts'

export interface AttendOptions {
  /** The person has agreed already: approve a waiting plan. */
  readonly yes?: boolean
  /** Without a terminal to ask on: leave gates to others. */
  readonly watch?: boolean
  readonly team?: Team
  /** What the agents run, where there is no team file. */
  readonly agents?: readonly DescribedAgent[]
  readonly told?: Set<string>
}

export type Attended =
  | { readonly kind: 'over'; readonly view: RunView }
  | { readonly kind: 'left'; readonly view: RunView | undefined; readonly ending: boolean }

export function isPlan({ type }: GateView, { tasks }: RunView): boolean {
  return type === 'task_approval' && tasks.every(({ attempt }) => attempt === 0)
}

type Leaving = 'leave' | 'abort' | 'stay'

type AskedGate = {
  readonly about: 'gate'
  gate: GateView
  readonly prompt: Prompt<GateAnswer>
  readonly work?: GateWork
}
type Asked = AskedGate | { readonly about: 'leaving'; readonly prompt: Prompt<Leaving> }

export class Attendance {
  readonly #context: Context
  #api: NodeClient
  readonly #run: string
  readonly #options: AttendOptions
  readonly #screen: Screen
  readonly #stop = new AbortController()
  /** Gates that are not asked about again. */
  readonly #passed = new Set<string>()
  /** Gates that were answered here; the views may lag behind. */
  readonly #answeredHere = new Set<string>()
  readonly #told: Set<string>
  #view: RunView | undefined
  #notify: Notify = () => undefined
  #asked: Asked | undefined
  readonly #settling: Settling
  #begun = false
  #hasAsked = false
  #busy = false
  /** The run was asked to end from here. */
  #ending = false
  /** Ctrl-C came while an answer was on its way. */
  #wantsToLeave = false
  /** The plan was approved here, with the plans inside it. */
  #agreed = false

  constructor(context: Context, api: NodeClient, run: string, options: AttendOptions) {
    this.#context = context
    this.#api = api
    this.#run = run
    this.#options = options
    this.#told = options.told ?? new Set()
    this.#settling = new Settling(context.clock)
    this.#screen = new Screen(context.terminal, context.clock, () => this.#frame())
  }

  async stay(): Promise<Attended> {
    const { terminal } = this.#context
    this.#notify = await notifier(this.#context, this.#api)
    using _keys = await terminal.keys(key => this.#press(key))
    const undo = [
      terminal.onResize(() => this.#screen.changed()),
      terminal.onInterrupt(() => this.#press({ name: 'ctrl-c', text: '', pasted: false })),
    ]
    try {
      const views = steadyViews(this.#context, this.#api, this.#run, this.#stop.signal, {
        tell: line => this.#say([line]),
        connected: api => {
          this.#api = api
        },
      })
      for await (const view of views) {
        this.#see(view)
        if (isOver(view.state)) break
      }
    } catch (thrown) {
      throw this.#view?.machine ? leftHeld(this.#view.machine, thrown) : thrown
    } finally {
      for (const each of undo) each()
      this.#asked = undefined
      if (this.#view && !this.#context.global.quiet) this.#screen.finish()
      else this.#screen.clear()
    }
    const view = this.#view
    return view && isOver(view.state) ? { kind: 'over', view } : { kind: 'left', view, ending: this.#ending }
  }

  #see(view: RunView): void {
    const before = this.#view
    this.#view = view
    if (before) this.#note(before, view)
    this.#warn(view)
    const asked = this.#asked
    if (isOver(view.state)) this.#asked = undefined
    else if (asked?.about === 'gate') {
      const now = view.gates.find(({ id, since }) => id === asked.gate.id && since === asked.gate.since)
      if (now) {
        asked.gate = now
        // What holds work up goes before what only tells something.
        if (now.remark && !asked.prompt.typing && this.#open.some(({ remark }) => !remark)) this.#asked = undefined
      } else {
        if (asked.prompt.typing) this.#settling.shown()
        this.#asked = undefined
        this.#say([`Answered elsewhere: ${oneLine(asked.gate.question)}`])
      }
    }
    this.#next()
    if (!this.#begun) this.#screen.tick()
    this.#begun = true
    this.#screen.changed()
  }

  /** What is new to somebody who looks elsewhere. */
  #note(before: RunView, view: RunView): void {
    const id = shortId(this.#run)
    if (isOver(view.state)) this.#notify(`${id} has ended: ${view.state}.`)
    else if (view.gates.some(({ id: gate }) => !before.gates.some(each => each.id === gate)))
      this.#notify(`${id} waits for your answer.`)
  }

  #warn(view: RunView): void {
    const fresh = view.warnings.filter(each => !this.#told.has(each))
    for (const each of fresh) this.#told.add(each)
    if (fresh.length > 0) this.#say(warningLines({ warnings: fresh }, this.#context.terminal.paint))
  }

  #say(lines: readonly string[]): void {
    const { columns } = this.#context.terminal
    if (!this.#context.global.quiet) this.#screen.above(lines.flatMap(line => wrap(line, columns)))
  }

  /** What is asked next, if nothing is being asked. */
  #next(): void {
    const view = this.#view
    if (!view || this.#asked || this.#busy || this.#ending || isOver(view.state)) return
    const [gate] = this.#open
    if (!gate) return
    const alike = () => this.#open.filter(({ type }) => type === gate.type)
    if (this.#agreed && isInner(gate, view)) void this.#answer([gate], { decision: 'approve' })
    else if (!isPlan(gate, view)) {
      const work = gateWork(this.#api, gate, () => this.#screen.changed())
      const asked: AskedGate = { about: 'gate', gate, work, prompt: gatePrompt(gate, alike, () => asked.gate, work) }
      this.#ask(asked)
    } else if (this.#options.yes) void this.#answer(alike(), { decision: 'approve' })
    else this.#ask({ about: 'gate', gate, prompt: this.#planPrompt(alike) })
  }

  /** What waits and was not passed over. */
  get #open(): readonly GateView[] {
    const view = this.#view
    const open = view?.gates.filter(each => !this.#passed.has(gateKey(each, view))) ?? []
    return open.filter(each => !this.#answeredHere.has(onceKey(each)))
  }

  #ask(asked: Asked): void {
    this.#asked = asked
    // Whoever is typing may mean what was asked before.
    if (this.#hasAsked) this.#settling.shown()
    this.#hasAsked = true
    this.#screen.now()
  }

  /** One question covers the plan; each of its tasks is answered. */
  #planPrompt(gates: () => readonly GateView[]): Prompt<GateAnswer> {
    const answer = (choice: GateChoice): GateAnswer => ({ kind: 'answer', gates: gates(), choice })
    const about = (drawn: Drawing) => {
      const until = this.#asked?.about === 'gate' ? untilLines(this.#asked.gate, drawn, true) : []
      const plan = planLines(this.#view!, drawn).map(line => drawn.paint('quiet', line))
      return [...plan, drawn.paint('strong', 'Start?'), ...until]
    }
    return new Prompt<GateAnswer>(about, () => [
      {
        key: 'y',
        label: 'start',
        help: 'all its tasks are approved',
        gives: { answer: answer({ decision: 'approve' }) },
      },
      {
        key: 'n',
        label: 'cancel',
        help: 'the run ends, and nothing has started',
        gives: { answer: answer({ decision: 'reject', reason: 'rejected at the terminal' }) },
      },
      { key: 'd', label: 'details', help: 'every task in full', gives: { answer: { kind: 'details' } } },
    ])
  }

  /** The run may begin, or end up elsewhere, while it is asked: question and keys are those of the newest view. */
  #leavingPrompt(): Prompt<Leaving> {
    const stay: Option<Leaving> = { key: 'b', label: 'back', help: 'stays here', gives: { answer: 'stay' } }
    const about = (drawn: Drawing) => {
      const plan = this.#waitingPlan
      const question = plan ? 'Cancel it, or leave it waiting?' : `Leave ${shortId(this.#run)} running, or end it?`
      return [
        ...wrap(question, drawn.width).map(line => drawn.paint('strong', line)),
        ...(plan ? untilLines(plan, drawn, true) : []),
      ]
    }
    return new Prompt<Leaving>(about, () =>
      this.#waitingPlan
        ? [
            { key: 'c', label: 'cancel', help: 'the run ends, and nothing has started', gives: { answer: 'abort' } },
            {
              key: 'w',
              label: 'leave it waiting',
              help: 'answer it later: `parley inbox`',
              gives: { answer: 'leave' },
            },
            stay,
          ]
        : [
            {
              key: 'w',
              label: 'leave it running',
              help: 'it continues without this terminal',
              gives: { answer: 'leave' },
            },
            {
              key: 'e',
              label: 'end it',
              help: 'its work ends; what has been merged is kept',
              gives: { answer: 'abort' },
            },
            stay,
          ],
    )
  }

  get #waitingPlan(): GateView | undefined {
    const view = this.#view
    const [gate] = view?.gates ?? []
    return view && gate && isPlan(gate, view) ? gate : undefined
  }

  #press(key: Key): void {
    if (key.name === 'redraw') {
      this.#screen.anew()
      return
    }
    if (this.#busy && key.name !== 'ctrl-c') {
      this.#settling.shown()
      return
    }
    const asked = this.#asked
    const typed = asked?.prompt.typing === true
    if (key.name === 'end') this.#leave()
    else if (key.name === 'ctrl-c' && !typed) this.#interrupted()
    else if (!typed && this.#settling.comesEarly()) asked?.prompt.tooEarly()
    else if (!asked) this.#watching(key)
    else if (asked.about === 'gate') {
      const outcome = asked.prompt.press(key)
      if (outcome) this.#answered(asked, outcome.answer)
    } else {
      const outcome = asked.prompt.press(key)
      if (outcome) this.#left(outcome.answer)
    }
    // Whoever still types means the line that has closed.
    if (typed && !this.#asked?.prompt.typing) this.#settling.shown()
    this.#screen.now()
  }

  #watching({ name }: Key): void {
    if (name !== 'q') return
    this.#interrupted()
    this.#settling.shown()
  }

  /** A second Ctrl-C leaves at once. */
  #interrupted(): void {
    if (this.#ending || this.#wantsToLeave || this.#asked?.about === 'leaving' || !this.#view) this.#leave()
    else if (this.#busy) this.#wantsToLeave = true
    else this.#askToLeave()
  }

  #askToLeave(): void {
    this.#asked = { about: 'leaving', prompt: this.#leavingPrompt() }
  }

  #leave(): void {
    this.#stop.abort()
  }

  #left(what: Leaving): void {
    this.#asked = undefined
    if (what === 'leave') this.#leave()
    else if (what === 'stay') this.#next()
    else void this.#end()
  }

  /** Its agents have some seconds to stop; the tasks stay in view meanwhile. */
  async #end(): Promise<void> {
    this.#ending = true
    this.#screen.now()
    try {
      await this.#api.runs.abort({ run: this.#run, reason: 'aborted at the terminal' })
    } catch (thrown) {
      // Whoever has left has closed the connection; the node ends the run all the same.
      if (this.#stop.signal.aborted) return
      this.#ending = false
      this.#say([asFailure(thrown).message])
      this.#next()
    }
    this.#screen.now()
  }

  #answered(asked: AskedGate, answer: GateAnswer): void {
    const { gate, prompt } = asked
    const view = this.#view!
    const drawn = drawing(this.#context)
    const short = shortIds(view.gates.map(({ id }) => id))
    const work = asked.work?.()
    switch (answer.kind) {
      case 'details':
        this.#screen.above(
          isPlan(gate, view)
            ? ['', ...planDetails(view, this.#options.team, drawn, this.#options.agents)]
            : gateDetails(gate, short, drawn, work),
        )
        return
      case 'later':
        this.#pass([gate])
        this.#say(gateLines({ ...gate, ...(work && { work }) }, drawn, short))
        return
      case 'answer':
        this.#agreed ||= isPlan(gate, view) && 'decision' in answer.choice && answer.choice.decision === 'approve'
        void this.#answer(answer.gates, answer.choice, prompt.typing ? asked : undefined)
    }
  }

  #pass(gates: readonly GateView[]): void {
    for (const each of gates) this.#passed.add(gateKey(each, this.#view!))
    this.#asked = undefined
    this.#next()
  }

  /** `typed`: the question stays with what was typed, if that is refused. */
  async #answer(gates: readonly GateView[], choice: GateChoice, typed?: AskedGate): Promise<void> {
    for (const each of gates) this.#answeredHere.add(onceKey(each))
    this.#asked = undefined
    const answer = async () => {
      for (const each of gates) {
        try {
          await answerGate(this.#api, each, choice)
        } catch (thrown) {
          // It is asked again, unless it is gone: the first answer counts.
          const gone = GONE.has(asFailure(thrown).code)
          if (!gone) this.#answeredHere.delete(onceKey(each))
          // With --yes the request itself approves the plan, and the coordinator may be quicker.
          if (!gone || !this.#options.yes || !isPlan(each, this.#view!)) throw thrown
        }
      }
    }
    await this.#act(answer, typed)
  }

  /** What a person does here; the next views show what is left of it. */
  async #act(act: () => Promise<unknown>, typed?: AskedGate): Promise<void> {
    this.#busy = true
    try {
      await this.#screen.aside(act)
    } catch (thrown) {
      if (this.#stop.signal.aborted) return
      const { code, message } = asFailure(thrown)
      if (typed && !GONE.has(code)) {
        typed.prompt.refuse(message)
        this.#asked = typed
      } else this.#say([GONE.has(code) ? 'Somebody else has already answered.' : message])
    } finally {
      this.#busy = false
      if (this.#wantsToLeave && !isOver(this.#view!.state)) this.#askToLeave()
      this.#wantsToLeave = false
      this.#next()
      this.#screen.now()
    }
  }

  #frame(): readonly string[] {
    const view = this.#view
    if (!view) return []
    const { terminal, global } = this.#context
    const drawn = drawing(this.#context)
    const height = Math.max(3, terminal.rows - 1)
    const room = global.quiet ? height : Math.max(3, height - LEAST_TREE)
    const asked = this.#asked?.prompt.lines(drawn, room) ?? (this.#ending ? endingNote(view, drawn) : [])
    if (global.quiet) return asked
    const gap = asked.length > 0 && height - asked.length > LEAST_TREE + 1 ? [''] : []
    const tree = liveFrame(view, { ...drawn, height: Math.max(1, height - asked.length - gap.length) })
    return [...tree.slice(0, height - asked.length), ...gap, ...asked]
  }
}

function endingNote({ state }: RunView, { paint, width }: Drawing): readonly string[] {
  if (isOver(state)) return []
  return wrap('Ending it: its agents have a moment to stop. Ctrl-C leaves.', width).map(line => paint('warning', line))
}

/** A task of a plan inside a task, before anybody works on it. */
function isInner({ type, task }: GateView, { tasks }: RunView): boolean {
  const found = tasks.find(({ id }) => id === task)
  return type === 'task_approval' && found?.parent !== undefined && found.attempt === 0
}

const GONE: ReadonlySet<string> = new Set(['invalid_state', 'not_found'])

/** A second question of a task has the same gate but a new time. */
function onceKey({ id, since }: GateView): string {
  return `${id} ${since}`
}

/** Lines that the tasks keep while something is asked. */
const LEAST_TREE = 4
