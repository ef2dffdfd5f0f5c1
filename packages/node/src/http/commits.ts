// What the trail tells of its commits, for whoever measures them. Nobody listens until the surface is open.
type Listener = (entries: number, milliseconds: number) => void

export class Commits {
  #listener: Listener | undefined

  readonly tell: Listener = (entries, milliseconds) => this.#listener?.(entries, milliseconds)

  /** One at a time. The answer ends it. */
  watch(listener: Listener): () => void {
    this.#listener = listener
    return () => {
      this.#listener = undefined
    }
  }
}
