// A map whose entries come and go all the time, as those of requests do. V8 makes a `Map` a new table whenever the old
// one is full of holes, and links the old to the new for the sake of iterators: once an old one has grown old in the
// heap, all later ones stay with everything that was in them, until a full collection. A new map now and then cuts that
// chain; it took a third of a call's time.

/** Entries that are added before the map is made anew, if they are some times as many as it holds. */
const RENEWED_AFTER = 1024
const RENEWED_PER_ENTRY = 4

export class BusyMap<V> {
  #map = new Map<string, V>()
  #added = 0

  get size(): number {
    return this.#map.size
  }

  get(key: string): V | undefined {
    return this.#map.get(key)
  }

  has(key: string): boolean {
    return this.#map.has(key)
  }

  set(key: string, value: V): void {
    if (++this.#added > RENEWED_AFTER && this.#added > RENEWED_PER_ENTRY * this.#map.size) {
      this.#map = new Map(this.#map)
      this.#added = 0
    }
    this.#map.set(key, value)
  }

  delete(key: string): boolean {
    return this.#map.delete(key)
  }

  clear(): void {
    this.#map.clear()
  }

  /** All of them as of now: what happens to the map afterwards does not matter. */
  values(): V[] {
    return [...this.#map.values()]
  }
}
