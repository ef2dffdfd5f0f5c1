// Why a program could not be started, in words.

import { ParleyError } from '@parley/core'

export function startError(name: string, program: string, cause: NodeJS.ErrnoException): ParleyError {
  const details = { program }
  switch (cause.code) {
    case 'ENOENT': {
      const where = program.includes('/')
        ? 'does not exist, or its first line names a program that does not'
        : 'is not on the PATH'
      return new ParleyError(
        'not_found',
        `The agent ${name} cannot start: ${program} ${where}. Install it, or correct \`command\`.`,
        { details, cause },
      )
    }
    case 'EACCES':
    case 'EPERM':
    case 'ENOEXEC':
      return new ParleyError(
        'not_executable',
        `The agent ${name} cannot start: ${program} may not be executed. Make the file executable, or name the program that runs it.`,
        { details, cause },
      )
    case 'E2BIG':
      return new ParleyError(
        'prompt_too_large',
        `The agent ${name} cannot start: its arguments are too long. Use \`prompt: stdin\` or {prompt_file}.`,
        { details, cause },
      )
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return new ParleyError(
        'start_failed',
        `The agent ${name} cannot start: the machine has no room for another process (${cause.code}). It may work later.`,
        { details, cause, retryable: true },
      )
    default:
      return new ParleyError('start_failed', `The agent ${name} cannot start: ${cause.message}`, {
        details,
        cause,
      })
  }
}
