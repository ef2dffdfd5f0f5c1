// What this process holds, for tests that bound it.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export const turn = () => new Promise<void>(resolve => setImmediate(resolve))

/** Bytes in use after everything that can go is gone: the heap and what lies beside it, such as buffers. */
export async function heldBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collect()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
