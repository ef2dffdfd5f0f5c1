// The private file of a turn: how `parley mcp` finds the turn that it serves. Programs pass their environment on to no
// MCP server, and nothing secret stands in arguments.
import { readSmallFile } from '../commands/words.ts'
import { Failure, isRecord } from '../failure.ts'
import { cliLimits } from '../limits.ts'

/** The variables that `parley ws` has in a turn. */
export function turnVariables(file: string): Readonly<Record<string, string>> {
  const text = readSmallFile(file, 'The turn is over: end your process.', found => {
    if (!found.isFile() || found.size > cliLimits.tokenBytes) throw unusable(file, 'It is not a small file.')
  })
  const variables = parsed(text)
  if (!isRecord(variables)) throw unusable(file, 'It is not a JSON object.')
  const named = Object.entries(variables).filter(
    ([name, value]) => name.startsWith('PARLEY_') && typeof value === 'string',
  )
  return Object.fromEntries(named) as Record<string, string>
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function unusable(file: string, why: string): Failure {
  return new Failure('file_unreadable', `${file} is not the file of a turn.`, { why, next: 'Leave it to the preset.' })
}
