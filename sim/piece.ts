// One of the processes that jobs.ts shares seeds among.
import type { Piece, PieceReport } from './jobs.ts'
import { simulateSeed } from './simulate.ts'
import { Statistics } from './statistics.ts'

process.on('disconnect', () => process.exit())
process.on('message', async (piece: Piece) => {
  const statistics = new Statistics()
  let broken: number | undefined
  for (let seed = piece.first; seed < piece.first + piece.count && broken === undefined; seed++) {
    const outcome = await simulateSeed(seed, piece.steps)
    statistics.add(outcome.statistics)
    if (outcome.failure) broken = seed
  }
  const report: PieceReport = { piece, broken, statistics }
  process.send?.(report)
})
