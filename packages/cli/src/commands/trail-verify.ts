// `parley trail verify`: recomputes every chain, anchor and signature, of the profile's record or of an exported file.
import { resolve } from 'node:path'
import { type Context, command } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { Failure } from '../failure.ts'
import { print } from '../output.ts'
import { verifyLines } from '../render/trail.ts'
import { fileReportLines, unprovenLines } from '../render/trail-file.ts'
import { verifyCold } from './cold-copy.ts'
import { headOf, KEY_FLAGS, type KeyValues, keysOf } from './trusted-keys.ts'
import { RUN } from './words.ts'

export const trailVerify = command({
  name: 'trail verify',
  summary: 'Verify the record: every hash, anchor and signature',
  about:
    'Exit code 1 and the first damaged entry of each run where something is not as it was written. Nothing is repaired. With --file an exported run is verified, without a node and without a profile; give a key that you trust with --key, or it is not proven who made the file. With --cold a copy of the cold tier is verified in the same way; where it holds imported runs, give a key of whoever made those, too.',
  args: [{ ...RUN, summary: 'A run: its id, a unique beginning of it, or last (default: all runs)' }],
  flags: {
    file: { type: 'text', value: 'FILE', complete: 'file', summary: 'An exported run instead of the record' },
    cold: {
      type: 'text',
      value: 'FOLDER',
      complete: 'file',
      summary: 'A replica, or trail/cold of a profile, instead of the record',
    },
    ...KEY_FLAGS,
    'expect-head': {
      type: 'text',
      value: 'RUN:SEQ:HASH',
      many: true,
      summary: 'An entry that must be there, as `parley trail heads` printed it; may be repeated',
    },
  },
  examples: [
    ['parley trail verify', 'the record of every run'],
    ['parley trail verify last --json', 'of one run, for a program'],
    ['parley trail verify --file run.parley --key-file mira.pub', 'a file that somebody has sent'],
    ['parley trail verify --cold /mnt/replica --key-file mira.pub', 'the second copy alone'],
  ],
  async run(context, { words, flags }) {
    const heads = flags['expect-head'].map(headOf)
    if (flags.cold !== undefined) {
      if (words[0] !== undefined || flags.file !== undefined)
        throw new Failure('usage', '--cold verifies all of a copy of the cold tier, and nothing else.', {
          next: 'Leave out the run and --file.',
        })
      const keys = await keysOf(flags, context.cwd)
      return verifyCold(context, resolve(context.cwd, flags.cold), keys, heads)
    }
    if (flags.file !== undefined) {
      if (words[0] !== undefined)
        throw new Failure('usage', 'A file holds one run: name the file or a run.', {
          next: `Leave out '${words[0]}'.`,
        })
      return verifyFile(context, resolve(context.cwd, flags.file), flags, heads)
    }
    if (flags.key.length + flags['key-file'].length > 0)
      throw new Failure('usage', '--key and --key-file belong to --file and --cold.', {
        why: 'The record of a profile is held against the keys of the profile: `parley trail keys`.',
        next: 'Leave them out, or name a file.',
      })
    const api = await context.connect()
    const report = await api.verifyTrail(words[0], heads)
    print(context, report, () => verifyLines(report, context.terminal.paint))
    return report.sound ? EXIT.done : EXIT.failed
  },
})

async function verifyFile(
  context: Context,
  file: string,
  given: KeyValues,
  heads: readonly ReturnType<typeof headOf>[],
): Promise<ExitCode> {
  const { verifyExport, withFile } = await import('@parley/node')
  const keys = await keysOf(given, context.cwd)
  const report = await withFile(file, source =>
    verifyExport(source, {
      ...(keys.length > 0 && { keys }),
      heads: heads.map(head => ({ ...head, run: head.run as never })),
    }),
  )
  const { paint } = context.terminal
  print(context, report, () => fileReportLines(report, paint))
  // Not only for whoever reads the result: silence would be taken for proof.
  if (!context.global.json) for (const line of unprovenLines(report, paint)) context.terminal.err(`${line}\n`)
  return report.sound ? EXIT.done : EXIT.failed
}
