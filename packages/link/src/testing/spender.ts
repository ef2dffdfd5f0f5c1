// A process that spends and says so, for a test that kills it: sets aside and settles as fast as it can, and tells each
// step once it is done.
import { writeSync } from 'node:fs'
import { SystemClock } from '@parley/core'
import { openLedger } from '../budget/ledger-file.ts'

const [path] = process.argv.slice(2)
const ledger = openLedger(path!, { clock: new SystemClock(), cap: () => 1_000_000, turnUsd: 1 })
for (let turn = 1; ; turn++) {
  const granted = ledger.reserve('alice')
  if (!granted.ok) break
  writeSync(1, `reserved ${turn}\n`)
  granted.value.settle({ usd: 0.5, tokensIn: 1, tokensOut: 1 })
  writeSync(1, `settled ${turn}\n`)
}
