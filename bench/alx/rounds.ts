// Sides measured in rounds that alternate, so that what the machine does meanwhile hits all of them.
import { median } from '../trail/measure.ts'
import type { Measured } from './http-client.ts'
import type { Side } from './sides.ts'

/** A side with so many requests in flight. */
export class Row {
  readonly side: Side
  readonly #rounds: Measured[] = []

  constructor(side: Side) {
    this.side = side
  }

  /** The first one is for warming up. */
  async round(atOnce: number, milliseconds: number): Promise<void> {
    const { measure } = this.side
    if (measure) this.#rounds.push(await measure(atOnce, milliseconds))
  }

  /** Of the rounds' figures the median; undefined where there are none. */
  typical(figure: keyof Measured): number | undefined {
    const all = this.#rounds.slice(1).flatMap(({ [figure]: value }) => value ?? [])
    return all.length === 0 ? undefined : median(all)
  }

  /** The median of the rounds' ratios: two sides have the noise of a round in common. */
  over(other: Row): number | undefined {
    const ratios = this.#rounds.flatMap(({ perSecond }, index) => {
      const beside = other.#rounds[index]?.perSecond
      return beside === undefined ? [] : perSecond / beside
    })
    return ratios.length === 0 ? undefined : median(ratios.slice(1))
  }
}

export async function measureRounds(
  sides: readonly Side[],
  atOnce: number,
  rounds: number,
  milliseconds: number,
): Promise<readonly Row[]> {
  const rows = sides.map(side => new Row(side))
  for (let round = 0; round <= rounds; round++) {
    // A side does not always find the machine as one and the same other side left it.
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) await row.round(atOnce, milliseconds)
  }
  return rows
}
