// The JSON Schema of team files for editors: the schema that Parley itself checks files with, as JSON.
import { TeamFileSchema } from './schema.ts'

export function teamJsonSchema(): Readonly<Record<string, unknown>> {
  const own: Record<string, unknown> = JSON.parse(JSON.stringify(TeamFileSchema))
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...own }
}
