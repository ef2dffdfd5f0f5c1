// Loaded by `--import` before anything else: changes one place of one source file as it is loaded, so that a host is
// broken in just that way. The description is the JSON file that PARLEY_BROKEN names; where its place is not found
// exactly once, nothing is loaded.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import type { Break } from './break.ts'

const { file, find, replace } = JSON.parse(readFileSync(process.env.PARLEY_BROKEN ?? '', 'utf8')) as Break

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith(`/${file}`) || !loaded.source) return loaded
    const parts = Buffer.from(loaded.source as Uint8Array)
      .toString('utf8')
      .split(find)
    if (parts.length !== 2)
      throw new Error(`${file}: expected exactly one place to break, found ${parts.length - 1}: ${find}`)
    return { ...loaded, source: parts.join(replace) }
  },
})
