// Makes the bundle that `bin/parley` runs, where the sources have changed since the last one. `--output FOLDER` writes
// one for publishing instead.
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { bundled, makeCurrent, writeBundle } from '@parley/node/testing'

const { values } = parseArgs({ options: { output: { type: 'string' } } })
if (values.output === undefined) makeCurrent((await bundled()).folder)
else {
  rmSync(values.output, { recursive: true, force: true })
  await writeBundle(values.output)
}
