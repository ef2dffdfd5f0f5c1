// Verifies a copy of the cold tier (a replica, or `trail/cold` of a profile) without a node and without the profile.
import { statSync } from 'node:fs'
import type { Context } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import type { HeadView } from '../../node/views.ts'
import { print, warn } from '../../output.ts'
import { plural } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'
import { verifyLines } from '../../render/trail.ts'

export async function verifyCold(
  context: Context,
  folder: string,
  keys: readonly string[],
  heads: readonly HeadView[],
): Promise<ExitCode> {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Failure('file_not_found', `There is no folder ${folder}.`, {
      next: "Give a profile's replica, or its `trail/cold` folder.",
    })
  const { openCold } = await import('@parley/node')
  const { trail, incomplete, problems } = await openCold(folder, keys.length > 0 ? { trusted: new Set(keys) } : {})
  try {
    const { runs, unreadable } = await trail.verifyAll({
      knownHeads: heads.map(head => ({ ...head, run: head.run as never })),
      ...(keys.length > 0 && { signed: true }),
    })
    const unspoilt = unreadable.length === 0 && problems.length === 0
    const sound = unspoilt && runs.every(({ findings }) => findings.length === 0)
    const shown = runs.map(({ run, entries, head, findings }) => ({
      run,
      entries,
      ...(head && { head: { seq: head.seq, hash: head.hash } }),
      findings: [...findings],
      findings_total: findings.length,
    }))
    const signatures = keys.length > 0 ? 'trusted' : 'any_key'
    const report = {
      sound,
      runs: shown,
      unreadable: [...unreadable],
      unreadable_total: unreadable.length,
      problems,
      incomplete,
      signatures,
    }
    const { paint } = context.terminal
    print(context, report, () => [
      ...problems.map(problem => `${paint('bad', 'keys')} ${oneLine(problem)}`),
      ...verifyLines(report, paint),
      ...(incomplete.length > 0
        ? [`${plural(incomplete.length, 'run')} copied only in part so far: ${incomplete.join(', ')}`]
        : []),
    ])
    // On stderr, so that a pipe does not hide it: silence would be taken for proof.
    if (sound && keys.length === 0 && !context.global.json)
      warn(
        context,
        `${paint('bad', 'NOT PROVEN')} who signed it: the signatures were checked only against the keys named in them. Give a key of the profile with --key.`,
      )
    return sound ? EXIT.done : EXIT.failed
  } finally {
    await trail.close()
  }
}
