// What a team file puts into the folders of its agents beside the project's commit: ignored files of the project, and
// what a command sets up there.
import { durationPattern, parseDuration, type Static, Type } from '@parley/core'
import { given } from '../given.ts'
import { closed, patterned } from './fields.ts'
import { teamDefaults, teamLimits } from './limits.ts'
import { PATH_PATTERN, VARIABLE_PATTERN, WORD_PATTERN } from './patterns.ts'

export const CarrySchema = Type.Array(Type.String({ maxLength: teamLimits.pathLength, pattern: PATH_PATTERN }), {
  maxItems: teamLimits.paths,
  title: 'Carry',
  description:
    'Globs of ignored files of the project that are copied into every folder, relative to the project. A file like .env comes along only if a glob ends in its name.',
  examples: [['.env.test', 'fixtures/large/**']],
})

const command = (least: number) =>
  Type.Array(Type.String({ maxLength: teamLimits.wordLength, pattern: WORD_PATTERN }), {
    minItems: least,
    maxItems: teamLimits.commandWords,
    examples: [['npm', 'ci']],
    title: 'Command',
    description: 'A program and its arguments.',
  })

export const SetupSchema = Type.Union(
  [
    command(0),
    Type.Object(
      {
        run: command(1),
        timeout: patterned(durationPattern, 'Timeout', 'How long it may take.', ['10m']),
        pass: Type.Optional(
          Type.Array(Type.String({ pattern: VARIABLE_PATTERN }), {
            maxItems: teamLimits.setupVariables,
            title: 'Passed variables',
            description: "Names of variables of the caller's environment that the command gets.",
            examples: [['NPM_TOKEN']],
          }),
        ),
      },
      closed,
    ),
  ],
  {
    title: 'Setup',
    description:
      'A program and its arguments, run once in every folder before anybody works in it: those of checks and reviews too. What it changes is not the work of an agent. An empty list: nothing is run.',
    examples: [['npm', 'ci']],
  },
)

/** For the file as a whole, and for an agent, whose own go before those of the file. */
export const folderFields = { setup: Type.Optional(SetupSchema), carry: Type.Optional(CarrySchema) }

export interface FolderFile {
  readonly setup?: Static<typeof SetupSchema>
  readonly carry?: readonly string[]
}

export interface Setup {
  readonly run: readonly string[]
  readonly timeoutMs: number
  readonly pass?: readonly string[]
}

/** What a folder holds beside the files of its commit. */
export interface Furnishing {
  readonly setup?: Setup
  readonly carry?: readonly string[]
}

/** `all`: what the file says for every agent. */
export function furnishingOf(own: FolderFile, all: FolderFile = {}): Furnishing {
  const { setup = all.setup, carry = all.carry } = own
  return given({ setup: setupOf(setup), carry: carry && carry.length > 0 ? carry : undefined })
}

function setupOf(file: FolderFile['setup']): Setup | undefined {
  if (file === undefined) return undefined
  const { run, timeout = teamDefaults.setupTimeout, pass } = 'run' in file ? file : { run: file }
  if (run.length === 0) return undefined
  return { run, timeoutMs: parseDuration(timeout)!, ...given({ pass }) }
}
