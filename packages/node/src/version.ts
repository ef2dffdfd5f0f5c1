// The version of this package: a client and its node must be of one.
import { readFileSync } from 'node:fs'

const manifest = new URL('../package.json', import.meta.url)

export const NODE_VERSION: string = (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version
