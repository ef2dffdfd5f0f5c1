// The version of this package, which is that of all of Parley.
import { readFileSync } from 'node:fs'

const manifest = new URL('../package.json', import.meta.url)

export const VERSION: string = (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
