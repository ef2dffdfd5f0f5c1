// How the coordinator asks the kernel for something. A refusal means that the next look will find a new state.
import type { Result } from '@parley/core'

const EXPECTED = new Set(['invalid_state', 'rejected', 'gated', 'containment'])

/** Whether it was done. False: the state has moved on, or a person must decide. Any other error is thrown. */
export async function ask(asked: Promise<Result<unknown>>): Promise<boolean> {
  const result = await asked
  if (result.ok) return true
  if (EXPECTED.has(result.error.code)) return false
  throw result.error
}

/** Takes all mail of an integrator; whether it could be taken. */
export async function emptyInbox(of: { consume(): Promise<Result<unknown>> }): Promise<boolean> {
  for (;;) {
    const mail = await of.consume()
    if (!(await ask(Promise.resolve(mail)))) return false
    if (mail.ok && mail.value === undefined) return true
  }
}
