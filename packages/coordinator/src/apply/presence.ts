// Whether the branch that is checked out has what was applied, asked of git each time: branches are switched, commits
// amended and reverted, and the record only says who did what.
import type { Checkout } from '../folder/checkout.ts'
import type { Application, Step } from './house-record.ts'

/** `there`: all of it, or with later work on it. `taken_back`: it was there, and nothing of it is left. `unclear`: the
 * same lines differ, and nothing else says whether they come from it. */
export type Presence = 'there' | 'taken_back' | 'unclear' | 'absent'

export const applyWords = {
  run: (run: string) => `Parley-Run: ${run}`,
  undo: (commit: string) => `This takes back ${commit}.`,
}

type Change = Pick<Step, 'run' | 'how' | 'from' | 'to'> & Pick<Application, 'undone'>

export async function presenceOf(checkout: Checkout, change: Change): Promise<Presence> {
  const { how, from, to } = change
  const { head } = checkout
  if (!(await checkout.has(from)) || !(await checkout.has(to))) return 'absent'
  if (how === 'patch' && head === from) return (await checkout.isStaged(from, to)) ? 'there' : 'absent'
  const { isKnown, isRevoked } = await history(checkout, change)
  if (!isKnown && change.undone) return 'absent'
  const missing = isKnown ? 'taken_back' : 'absent'
  const tree = await checkout.tree(head)
  const without = await checkout.replayed({ from: to, to: from, on: head })
  if ('conflicts' in without) {
    if (!isKnown) return 'absent'
    return isRevoked || how === 'patch' ? 'unclear' : 'there'
  }
  if (without.tree === tree) return missing
  if (isKnown) return 'there'
  // Somebody may have made a commit of it that says nothing of the run.
  const again = await checkout.replayed({ from, to, on: head })
  return 'tree' in again && again.tree === tree ? 'there' : 'absent'
}

/** Whether commits of the branch brought it, and whether one says that it takes it back. */
async function history(checkout: Checkout, { run, how, from, to, undone }: Change) {
  const mark = applyWords.run(run)
  const revoking = [applyWords.undo(to), `This reverts commit ${to}`]
  const messages = await checkout.messages(from, [mark, ...revoking])
  const isRevoking = (message: string) => revoking.some(words => message.includes(words))
  const brings = (message: string) =>
    message.split('\n').includes(mark) && !/^This takes back [0-9a-f]+\.$/m.test(message)
  // What was staged, and not taken back, is in a commit of the user's if in any.
  const isCommitted = how === 'patch' ? !undone : await checkout.isAncestor(to, checkout.head)
  const isKnown = isCommitted || messages.some(brings)
  return { isKnown, isRevoked: messages.some(isRevoking) }
}

/** Whether a ref that stays where it is has the work: what was applied, or the commit of the run. */
export async function isElsewhere(checkout: Checkout, { to, result, branch }: Step): Promise<boolean> {
  const has = async (commit: string) =>
    (await checkout.has(commit)) && (await checkout.containing(commit)).some(ref => ref !== branch)
  return (await has(to)) || (result !== undefined && (await has(result)))
}
