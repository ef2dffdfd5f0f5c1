// The table of methods: what a pinned peer may call once the checks of dispatch are passed. `link.*` is entered here;
// workgroups and whatever comes later enter themselves.
import { ParleyError } from '@parley/core'
import type { WireObject } from '../json/value.ts'
import type { Peer } from '../peers/peer.ts'
import type { LinkConnection, LinkRequest, Reply } from '../server/request.ts'

export interface MethodCall {
  readonly params: WireObject
  /** The caller as the peer list has it. */
  readonly peer: Peer
  readonly request: LinkRequest
  readonly connection: LinkConnection
}

/**
 * Answers one call. What it throws becomes `internal-error`. It runs at once: what it does before it first waits,
 * nobody comes between.
 */
export type Method = (call: MethodCall) => Reply | Promise<Reply>

export class MethodTable {
  readonly #methods = new Map<string, Method>()

  /** Throws `method_exists` where the name is taken: that is a defect of whoever wires. */
  register(name: string, method: Method): this {
    if (this.#methods.has(name)) throw new ParleyError('method_exists', `The method ${name} is registered already.`)
    this.#methods.set(name, method)
    return this
  }

  get(name: string): Method | undefined {
    return this.#methods.get(name)
  }

  get names(): readonly string[] {
    return [...this.#methods.keys()]
  }
}
