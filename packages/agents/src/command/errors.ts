// Why a program could not be started, in words.
import { ParleyError } from '@parley/core'

export function startError(who: string, program: string, cause: NodeJS.ErrnoException): ParleyError {
  const { code, what, retryable = false } = reasonOf(program, cause)
  return new ParleyError(code, `${who} cannot start: ${what}`, { details: { program }, cause, retryable })
}

interface Reason {
  readonly code: 'not_found' | 'not_executable' | 'prompt_too_large' | 'start_failed'
  readonly what: string
  readonly retryable?: boolean
}

function reasonOf(program: string, { code, message }: NodeJS.ErrnoException): Reason {
  switch (code) {
    case 'ENOENT': {
      const where = program.includes('/')
        ? 'does not exist, or its first line names a program that does not'
        : 'is not on the PATH'
      return { code: 'not_found', what: `${program} ${where}. Install it, or correct \`command\`.` }
    }
    case 'EACCES':
    case 'EPERM':
    case 'ENOEXEC': {
      const what = `${program} may not be executed. Make the file executable, or name the program that runs it.`
      return { code: 'not_executable', what }
    }
    case 'E2BIG':
      return { code: 'prompt_too_large', what: 'its arguments are too long. Use `prompt: stdin` or {prompt_file}.' }
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM': {
      const what = `the machine has no room for another process (${code}). It may work later.`
      return { code: 'start_failed', what, retryable: true }
    }
    default:
      return { code: 'start_failed', what: message }
  }
}
