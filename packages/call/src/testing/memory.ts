// What a process holds, for tests that bound it. Node.js only.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { turn } from './peer.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that are in use after everything that can go is gone: the heap and what lies beside it, such as buffers. */
export async function heldBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
