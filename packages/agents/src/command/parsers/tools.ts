// Tools that have started and not finished: their end names only an id, and a reader wants the name.
import { agentLimits } from '../../limits.ts'
import { type Report, textOf } from './parser.ts'

export class OpenTools {
  readonly #report: Report
  readonly #names = new Map<string, string>()

  constructor(report: Report) {
    this.#report = report
  }

  start(id: unknown, name: unknown, summary?: string): void {
    const known = textOf(name) ?? 'tool'
    if (typeof id === 'string' && this.#names.size < agentLimits.openTools) this.#names.set(id, known)
    this.#report.tool(known, 'started', summary)
  }

  end(id: unknown, failed: boolean, summary?: string): void {
    const key = typeof id === 'string' ? id : ''
    const name = this.#names.get(key) ?? 'tool'
    this.#names.delete(key)
    this.#report.tool(name, failed ? 'failed' : 'finished', summary)
  }
}
