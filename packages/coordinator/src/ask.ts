// How the coordinator asks the kernel for something: what is refused has been overtaken by something that brings the
// next look.
import type { Result } from '@parley/core'

const EXPECTED = new Set(['invalid_state', 'rejected', 'gated', 'containment'])

/**
 * Whether it was done. A refusal means that the state has moved on, or that it waits for a person; anything else is
 * thrown.
 */
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
