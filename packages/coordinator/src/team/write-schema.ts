// Writes schema/team.schema.json anew: `node --conditions=parley-source packages/coordinator/src/team/write-schema.ts`,
// then `npm run format`. A test compares the file with the schema of the code.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { teamJsonSchema } from './json-schema.ts'

const file = join(import.meta.dirname, '..', '..', 'schema', 'team.schema.json')
writeFileSync(file, `${JSON.stringify(teamJsonSchema(), null, 2)}\n`)
