// Desktop notifications of what waits for a person and of runs that have ended (notify.desktop). They say which run,
// and nothing that an agent or a peer wrote: a desktop shows them to whoever looks at it.
import { spawn } from 'node:child_process'
import type { Coordination } from '@parley/coordinator'
import { type CancelTimer, type Clock, type RunId, shortId } from '@parley/core'
import { nodeTimes } from './limits.ts'
import type { NodeLog } from './log/log.ts'
import type { Environment } from './profile/paths.ts'

export interface DesktopNotesOptions {
  readonly clock: Clock
  readonly env: Environment
  readonly log: Pick<NodeLog, 'warn'>
  readonly coordinator: Pick<Coordination, 'runs' | 'views'>
  readonly platform?: NodeJS.Platform
}

export class DesktopNotes {
  readonly #options: DesktopNotesOptions
  /** How much waited in each run at work when it was looked at last. */
  #known: ReadonlyMap<string, number> | undefined
  #cancel: CancelTimer | undefined
  #failed = false
  #closed = false

  constructor(options: DesktopNotesOptions) {
    this.#options = options
    void this.#look()
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
  }

  async #look(): Promise<void> {
    try {
      await this.#compare()
    } catch {
      // What cannot be told now is told at the next look.
    }
    if (this.#closed) return
    this.#cancel = this.#options.clock.after(nodeTimes.notifyLook, () => void this.#look(), { background: true })
  }

  async #compare(): Promise<void> {
    const { coordinator } = this.#options
    const live = await coordinator.runs.list({ states: ['waiting', 'working'] })
    const now = new Map(live.map(({ run, waits }) => [run, waits?.things ?? 0]))
    const before = this.#known
    this.#known = now
    for (const [run, things] of now)
      if (things > (before?.get(run) ?? 0)) this.#show(`${shortId(run)} waits for your answer.`)
    for (const run of before?.keys() ?? []) {
      if (now.has(run)) continue
      const view = await coordinator.views.view(run as RunId)
      this.#show(`${shortId(run)} has ended${view.ok ? `: ${view.value.state}` : ''}.`)
    }
  }

  #show(text: string): void {
    const { env, log, platform = process.platform } = this.#options
    const [program, ...args] =
      platform === 'darwin'
        ? [
            'osascript',
            '-e',
            'on run argv',
            '-e',
            'display notification (item 1 of argv) with title "Parley"',
            '-e',
            'end run',
            text,
          ]
        : ['notify-send', '--app-name=Parley', 'Parley', text]
    const child = spawn(program!, args, { env: { ...env }, stdio: 'ignore', detached: true })
    child.on('error', ({ message }) => {
      if (!this.#failed) log.warn(`no notification can be shown on the desktop: ${message}`)
      this.#failed = true
    })
    child.unref()
  }
}
