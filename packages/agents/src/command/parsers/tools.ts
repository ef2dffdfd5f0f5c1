// Tools that have started and not finished: their end names only an id, and a reader wants to know what they did.
import { agentLimits } from '../../limits.ts'
import { type Report, textOf } from './parser.ts'

export class OpenTools {
  readonly #report: Report
  readonly #open = new Map<string, { readonly name: string; readonly summary: string | undefined }>()

  constructor(report: Report) {
    this.#report = report
  }

  start(id: unknown, name: unknown, summary?: string): void {
    const known = textOf(name) ?? 'tool'
    if (typeof id === 'string' && this.#open.size < agentLimits.openTools) this.#open.set(id, { name: known, summary })
    this.#report.tool(known, 'started', summary)
  }

  end(id: unknown, failed: boolean, summary?: string): void {
    const key = typeof id === 'string' ? id : ''
    const open = this.#open.get(key)
    this.#open.delete(key)
    this.#report.tool(open?.name ?? 'tool', failed ? 'failed' : 'finished', summary ?? open?.summary)
  }
}
