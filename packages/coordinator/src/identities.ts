// `<agent>#<slot>`: one identity never sits in two live workspaces.

/** The agent of an identity. */
export function nameOf(identity: string): string {
  return identity.replace(/#\d+$/, '')
}

export class Identities {
  readonly #taken = new Set<string>()

  /** The lowest slot that is free. */
  next(agent: string): string {
    for (let slot = 1; ; slot++) {
      const identity = `${agent}#${slot}`
      if (this.#taken.has(identity)) continue
      this.#taken.add(identity)
      return identity
    }
  }

  take(identities: readonly string[]): void {
    for (const identity of identities) this.#taken.add(identity)
  }

  release(identity: string): void {
    this.#taken.delete(identity)
  }
}
