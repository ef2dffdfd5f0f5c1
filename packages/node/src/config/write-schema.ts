// Writes schema/config.schema.json: node --conditions=parley-source src/config/write-schema.ts
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configJsonSchema } from './schema.ts'

export const SCHEMA_FILE = fileURLToPath(new URL('../../schema/config.schema.json', import.meta.url))

export function schemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`
}

if (import.meta.main) {
  mkdirSync(dirname(SCHEMA_FILE), { recursive: true })
  writeFileSync(SCHEMA_FILE, schemaText())
}
