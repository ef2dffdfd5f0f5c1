// Writes the schemas for editors: node --conditions=parley-source src/config/write-schema.ts
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configJsonSchema, teamJsonSchema } from './schema.ts'

const place = (name: string) => fileURLToPath(new URL(`../../schema/${name}.schema.json`, import.meta.url))

/** Files with what belongs in them. */
export const SCHEMA_FILES: ReadonlyMap<string, () => object> = new Map([
  [place('config'), configJsonSchema],
  [place('team'), teamJsonSchema],
])

if (import.meta.main)
  for (const [file, schema] of SCHEMA_FILES) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify(schema(), null, 2)}\n`)
  }
