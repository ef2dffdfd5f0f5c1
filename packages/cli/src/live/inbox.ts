// The inbox on a terminal: what waits, kept up to date; one thing at a time is opened and answered with a key.
import type { Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { asFailure } from '../failure.ts'
import type { Key } from '../keyboard.ts'
import { cliLimits } from '../limits.ts'
import { machineFault, type NodeClient } from '../node/client.ts'
import type { GateView, MachineView } from '../node/views.ts'
import { drawing } from '../output.ts'
import { between, inWords, plural, shortId, shortIds } from '../render/format.ts'
import { heldLine } from '../render/machine.ts'
import type { Drawing } from '../render/tasks.ts'
import { cut, oneLine, wrap } from '../render/text.ts'
import { fallbackText } from '../render/waiting.ts'
import {
  answerGate,
  type GateAnswer,
  type GateChoice,
  gateDetails,
  gatePrompt,
  planPrompt,
  plansQuestion,
} from './gate.ts'
import { type GateWork, gateWork } from './gate-work.ts'
import { type Notify, notifier } from './notify.ts'
import type { Prompt } from './prompt.ts'
import { Screen } from './screen.ts'
import { Settling } from './settling.ts'

export async function attendInbox(
  context: Context,
  api: NodeClient,
  own: (list: readonly GateView[]) => readonly GateView[],
): Promise<ExitCode> {
  await new Inbox(context, api, own).stay()
  return EXIT.done
}

interface OpenGate {
  gate: GateView
  readonly prompt: Prompt<GateAnswer>
  readonly work: GateWork
}

class Inbox {
  readonly #context: Context
  readonly #api: NodeClient
  readonly #own: (list: readonly GateView[]) => readonly GateView[]
  readonly #screen: Screen
  readonly #stop = new AbortController()
  readonly #settling: Settling
  /** What can be opened: of a plan the first of its tasks, which stands for all. */
  #list: readonly GateView[] = []
  #all: readonly GateView[] = []
  /** The id of what is marked in the list. */
  #marked: string | undefined
  #open: OpenGate | undefined
  #machine: MachineView | undefined
  #seen = false
  #notify: Notify = () => undefined
  #busy = false
  #hint: string | undefined
  #helps = false

  constructor(context: Context, api: NodeClient, own: (list: readonly GateView[]) => readonly GateView[]) {
    this.#context = context
    this.#api = api
    this.#own = own
    this.#settling = new Settling(context.clock)
    this.#screen = new Screen(context.terminal, context.clock, () => this.#frame())
  }

  async stay(): Promise<void> {
    const { terminal } = this.#context
    this.#notify = await notifier(this.#context, this.#api)
    using _keys = await terminal.keys(key => this.#press(key))
    const undo = [terminal.onResize(() => this.#screen.changed()), terminal.onInterrupt(() => this.#stop.abort())]
    this.#screen.tick()
    try {
      for await (const { gates } of this.#api.streams.gates.watch({}, { signal: this.#stop.signal })) this.#see(gates)
    } catch (thrown) {
      if (!this.#stop.signal.aborted) throw thrown
    } finally {
      for (const each of undo) each()
      this.#screen.clear()
    }
  }

  #see(gates: readonly GateView[]): void {
    const before = this.#index
    const known = new Set(this.#list.map(({ id }) => id))
    this.#take(this.#own(gates))
    const fresh = this.#list.find(({ id }) => !known.has(id))
    if (fresh && this.#seen) this.#notify(`${shortId(fresh.run)} waits for your answer.`)
    this.#seen = true
    if (!this.#list.some(({ id }) => id === this.#marked)) this.#mark(before)
    const open = this.#open
    if (open) {
      const now = this.#list.find(({ id, since }) => id === open.gate.id && since === open.gate.since)
      if (now) open.gate = now
      else {
        if (open.prompt.typing) this.#settling.shown()
        this.#say(`Answered elsewhere: ${oneLine(open.gate.question)}`)
        this.#open = undefined
      }
    }
    this.#screen.changed()
    // The list does not wait for it.
    machineFault(this.#api).then(
      found => {
        this.#machine = found
        this.#screen.changed()
      },
      () => undefined,
    )
  }

  #take(all: readonly GateView[]): void {
    this.#all = all
    this.#list = all.filter(gate => gate.type !== 'task_approval' || this.#planOf(gate)[0]?.id === gate.id)
  }

  /** The tasks of its run that wait for approval. */
  #planOf({ run, type }: GateView): readonly GateView[] {
    return type === 'task_approval' ? this.#all.filter(each => each.run === run && each.type === type) : []
  }

  get #index(): number {
    return Math.max(
      0,
      this.#list.findIndex(({ id }) => id === this.#marked),
    )
  }

  #mark(index: number): void {
    this.#marked = this.#list[Math.min(Math.max(0, index), this.#list.length - 1)]?.id
  }

  #press(key: Key): void {
    if (key.name === 'redraw') {
      this.#screen.anew()
      return
    }
    this.#hint = undefined
    if (key.name === 'end' || (key.name === 'ctrl-c' && !this.#open?.prompt.typing)) this.#stop.abort()
    else if (this.#busy) this.#settling.shown()
    else if (this.#open?.prompt.typing) {
      this.#inOpen(this.#open, key)
      // Whoever still types means the line that has closed.
      if (!this.#open?.prompt.typing) this.#settling.shown()
    } else if (this.#settling.comesEarly()) this.#open?.prompt.tooEarly()
    else if (this.#open) this.#inOpen(this.#open, key)
    else if (!key.pasted) this.#inList(key)
    this.#screen.now()
  }

  #inList(key: Key): void {
    const number = Number(key.text)
    if (key.name === 'q') this.#stop.abort()
    else if (key.name === 'up' || key.name === 'k') this.#mark(this.#index - 1)
    else if (key.name === 'down' || key.name === 'j') this.#mark(this.#index + 1)
    else if (key.name === 'return' || key.name === 'enter') this.#openAt(this.#index)
    else if (Number.isInteger(number) && number > 0) this.#openAt(number - 1)
    else if (key.name === '?') this.#helps = !this.#helps
    else
      this.#hint =
        this.#list.length > 0
          ? 'Nothing happens there: ↑ ↓ and Enter, a number, or q; ? shows the keys.'
          : 'Only q does something here.'
  }

  #openAt(index: number): void {
    const gate = this.#list[index]
    if (!gate) {
      this.#hint = this.#list.length > 0 ? `There is no number ${index + 1} in this list.` : undefined
      return
    }
    this.#marked = gate.id
    const alike = () => this.#list.filter(({ run, type }) => run === gate.run && type === gate.type)
    const work = gateWork(this.#api, gate, () => this.#screen.changed())
    const plan = this.#planOf(gate).length > 1
    const prompt = plan ? planPrompt(() => this.#planOf(gate)) : gatePrompt(gate, alike, () => open.gate, work)
    const open: OpenGate = { gate, work, prompt }
    this.#open = open
    this.#settling.shown()
  }

  #inOpen(open: OpenGate, key: Key): void {
    if (!open.prompt.typing && (key.name === 'escape' || key.name === 'q')) {
      this.#open = undefined
      return
    }
    const outcome = open.prompt.press(key)
    if (!outcome) return
    const { answer } = outcome
    if (answer.kind === 'details') {
      const short = shortIds(this.#all.map(({ id }) => id))
      const plan = this.#planOf(open.gate)
      const shown = plan.length > 1 ? plan : [open.gate]
      this.#screen.above(shown.flatMap(each => gateDetails(each, short, drawing(this.#context), open.work())))
    } else if (answer.kind === 'later') this.#open = undefined
    else void this.#answer(open, answer.gates, answer.choice)
  }

  async #answer(open: OpenGate, gates: readonly GateView[], choice: GateChoice): Promise<void> {
    this.#busy = true
    this.#open = undefined
    try {
      await this.#screen.aside(async () => {
        for (const each of gates) await answerGate(this.#api, each, choice)
      })
      this.#take(this.#all.filter(({ id }) => !gates.some(each => each.id === id)))
      this.#mark(this.#index)
      this.#hint = 'Done.'
    } catch (thrown) {
      const { code, message } = asFailure(thrown)
      if (code === 'not_found') this.#say('Somebody else has already answered.')
      else if (open.prompt.typing) {
        open.prompt.refuse(message)
        this.#open = open
      } else this.#say(message)
    } finally {
      this.#busy = false
      this.#screen.now()
    }
  }

  #say(text: string): void {
    this.#screen.above(wrap(text, this.#context.terminal.columns))
  }

  #frame(): readonly string[] {
    const drawn = drawing(this.#context)
    const height = Math.max(4, this.#context.terminal.rows - 1)
    const held = this.#machine ? [heldLine(this.#machine, drawn, drawn.width)] : []
    if (this.#open) {
      const more = this.#list.length - 1
      const head = drawn.paint('quiet', cut(`Esc back${more > 0 ? `; ${more} more wait` : ''}`, drawn.width))
      return [...held, head, ...this.#open.prompt.lines(drawn, height - held.length - 1)]
    }
    const hint = this.#hint === undefined ? [] : wrap(this.#hint, drawn.width).map(line => drawn.paint('warning', line))
    if (this.#list.length === 0) return [...held, 'Nothing is waiting for you.', ...hint, keysOf(['q', 'quit'], drawn)]
    const keys = this.#helps
      ? listHelp(drawn)
      : [keysOf(['↑↓', 'choose', 'Enter', 'open', '?', 'help', 'q', 'quit'], drawn)]
    const room = Math.max(2, height - held.length - hint.length - keys.length - 1)
    const what = `${plural(this.#list.length, 'thing waits', 'things wait')} for you`
    return [...held, drawn.paint('strong', what), ...this.#items(room, drawn), ...hint, ...keys]
  }

  /** Two lines for each, those around the marked one if there is no room for all. */
  #items(room: number, drawn: Drawing): readonly string[] {
    const shown = Math.max(1, Math.floor(room / 2))
    const first = Math.max(0, Math.min(this.#index - Math.floor(shown / 2), this.#list.length - shown))
    const several = this.#list.some(({ run }) => run !== this.#list[0]?.run)
    return this.#list.slice(first, first + shown).flatMap((gate, offset) => {
      const index = first + offset
      const plan = this.#planOf(gate)
      const mark = gate.id === this.#marked ? drawn.paint('active', '▸') : ' '
      const lead = `${mark} ${String(index + 1).padStart(2)} `
      return [
        `${lead}${cut(plan.length > 1 ? plansQuestion(plan) : askedBy(gate), drawn.width - 5)}`,
        `     ${drawn.paint('quiet', cut(factsOf(gate, drawn, several, plan.length > 1), drawn.width - 5))}`,
      ]
    })
  }
}

function askedBy({ kind, task, question, remark }: GateView): string {
  const verb = remark ? 'says' : 'asks'
  return oneLine(kind === 'question' && task !== undefined ? `${task} ${verb}: ${question}` : question)
}

/** `Tidy the house · waits 5 min · is merged by itself in 4 min`; of which run, where several wait. */
function factsOf(gate: GateView, { now }: Drawing, several: boolean, plan: boolean): string {
  const waits = `waits ${inWords(between(gate.since, undefined, now) ?? 0)}`
  const then = fallbackText(gate, now)
  return [
    // Two runs of the same file have the same intent.
    ...(several ? [shortId(gate.run), ...(gate.intent === undefined || plan ? [] : [oneLine(gate.intent)])] : []),
    waits,
    ...(then === undefined ? [] : [then]),
  ].join(' · ')
}

const LIST_KEYS = [
  ['↑ ↓', 'choose what is marked with ▸; so do k and j'],
  ['Enter', 'opens it: there it is answered with one key'],
  ['1 to 9', 'opens the one with that number'],
  ['q', 'quits; everything stays as it is'],
  ['?', 'hides this'],
] as const

function listHelp(drawn: Drawing): readonly string[] {
  return LIST_KEYS.flatMap(([key, does]) =>
    wrap(does, Math.max(cliLimits.leastColumns, drawn.width - 10)).map(
      (line, index) => `  ${drawn.paint('active', (index === 0 ? key : '').padEnd(6))}  ${line}`,
    ),
  )
}

function keysOf(pairs: readonly string[], { paint, width }: Drawing): string {
  const parts = pairs.flatMap((each, index) =>
    index % 2 === 0 ? [`${paint('active', each)} ${pairs[index + 1]}`] : [],
  )
  return width < 20 ? (parts[0] ?? '') : parts.join('   ')
}
