// Choices of the simulator: everything that happens by chance comes from one of these, and each from a seed.
import { seededRandom } from '@parley/trail/testing'

export class Dice {
  readonly next: () => number

  constructor(seed: number) {
    this.next = seededRandom(seed)
  }

  /** 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  between(least: number, most: number): number {
    return least + this.int(most - least + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)]!
  }

  maybe<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : this.pick(items)
  }

  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [key, weight] of entries) {
      rest -= weight
      if (rest < 0) return key
    }
    return entries.at(-1)![0]
  }

  seed(): number {
    return this.int(2 ** 31)
  }
}
