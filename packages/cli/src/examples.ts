// The teams of examples/ that `parley init --example` writes: beside the installed package, or in a clone.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from './failure.ts'

export const EXAMPLES = [
  'fix-issue',
  'nightly-audit',
  'release-notes',
  'review-branch',
  'upgrade-dependencies',
] as const
export type Example = (typeof EXAMPLES)[number]

const FOLDERS = [['..'], ['..', '..', '..']].map(up => join(import.meta.dirname, ...up, 'examples'))

export function exampleText(name: Example): string {
  const file = FOLDERS.map(folder => join(folder, name, 'parley.yaml')).find(each => existsSync(each))
  if (file !== undefined) return readFileSync(file, 'utf8')
  throw new Failure('file_not_found', `The example ${name} is not beside this command.`, {
    why: `It was looked for in ${FOLDERS.join(' and ')}.`,
    next: 'Install Parley again.',
  })
}
