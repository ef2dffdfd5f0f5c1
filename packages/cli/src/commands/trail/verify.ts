// `parley trail verify`: recomputes every chain, anchor and signature, of the profile's record or of an exported file.
import { resolve } from 'node:path'
import type { verifyExportFile } from '@parley/node'
import { type Context, command } from '../../command.ts'
import { EXIT, type ExitCode } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { SLOW } from '../../limits.ts'
import { print, warn } from '../../output.ts'
import { bytes, moment, plural } from '../../render/format.ts'
import type { Paint } from '../../render/paint.ts'
import { oneLine } from '../../render/text.ts'
import { andMore, verifyLines } from '../../render/trail.ts'
import { runHere } from '../which-run.ts'
import { RUN } from '../words.ts'
import { verifyCold } from './cold-copy.ts'
import { headOf, KEY_FLAGS, type KeyValues, keysOf } from './trusted-keys.ts'

export default command({
  about:
    'If something was altered or lost, the first damaged entry of each run is shown and the exit code is 1. Nothing is repaired. With --file an exported run is verified, without a node or a profile; give a key that you trust with --key, otherwise its author is not proven. With --cold a copy of the cold tier is verified in the same way; if it holds imported runs, also give a key of their authors.',
  args: [{ ...RUN, summary: 'A run: its id, a part of it as lists show it, or last (default: all runs)' }],
  flags: {
    file: { value: 'FILE', complete: 'file', summary: 'An exported run instead of the record' },
    cold: {
      value: 'FOLDER',
      complete: 'file',
      summary: 'A replica, or trail/cold of a profile, instead of the record',
    },
    ...KEY_FLAGS,
    'expect-head': {
      value: 'RUN:SEQ:HASH',
      many: true,
      summary: 'An entry that must exist, as printed by `parley trail heads`; may be repeated',
    },
  },
  examples: [
    ['parley trail verify', 'the record of every run'],
    ['parley trail verify last --json', 'of one run, for a program'],
    ['parley trail verify --file run.parley --key-file mira.pub', 'a file that somebody sent'],
    ['parley trail verify --cold /mnt/replica --key-file mira.pub', 'the second copy alone'],
  ],
  async run(context, { words, flags }) {
    const heads = flags['expect-head'].map(headOf)
    if (flags.cold !== undefined) {
      if (words[0] !== undefined || flags.file !== undefined)
        throw new Failure('usage', '--cold verifies a whole copy of the cold tier, and nothing else.', {
          next: 'Leave out the run and --file.',
        })
      const keys = await keysOf(flags, context.cwd)
      return verifyCold(context, resolve(context.cwd, flags.cold), keys, heads)
    }
    if (flags.file !== undefined) {
      if (words[0] !== undefined)
        throw new Failure('usage', 'A file holds one run: give the file or a run, not both.', {
          next: `Leave out '${words[0]}'.`,
        })
      return verifyFile(context, resolve(context.cwd, flags.file), flags, heads)
    }
    if (flags.key.length + flags['key-file'].length > 0)
      throw new Failure('usage', '--key and --key-file apply only to --file and --cold.', {
        why: 'The record of a profile is verified with its own keys: `parley trail keys`.',
        next: 'Leave them out, or name a file.',
      })
    const report = await context.api.trail.verify(
      { run: words[0] && (await runHere(context, words[0])), expect: heads.length > 0 ? heads : undefined },
      SLOW,
    )
    print(context, report, () => verifyLines(report, context.terminal.paint))
    return report.sound ? EXIT.done : EXIT.failed
  },
})

type ExportReport = Awaited<ReturnType<typeof verifyExportFile>>

async function verifyFile(
  context: Context,
  file: string,
  given: KeyValues,
  heads: readonly ReturnType<typeof headOf>[],
): Promise<ExitCode> {
  const { verifyExportFile } = await import('@parley/node')
  const keys = await keysOf(given, context.cwd)
  const report = await verifyExportFile(file, {
    ...(keys.length > 0 && { keys }),
    heads: heads.map(head => ({ ...head, run: head.run as never })),
  })
  const { paint } = context.terminal
  // Signatures of strangers look like damage: held against its own keys, the file tells which it is.
  const alone = report.sound || keys.length === 0 ? undefined : await verifyExportFile(file)
  const undamaged = report.sound || alone?.sound === true
  print(context, { ...report, undamaged }, () =>
    undamaged && !report.sound ? untrustedLines(report, paint) : fileReportLines(report, paint),
  )
  // On stderr, so that a pipe does not hide it: silence would be taken for proof.
  if (!context.global.json) for (const line of unprovenLines(report, paint)) warn(context, line)
  if (report.sound) return EXIT.done
  return undamaged ? EXIT.refused : EXIT.failed
}

function untrustedLines({ run, signers }: ExportReport, paint: Paint): readonly string[] {
  return [
    `${paint('bad', 'Not trusted:')} ${run} is undamaged, but nobody whose key you gave has made it.`,
    ...signers.map(({ fingerprint, entries }) => `signed    ${plural(entries, 'entry', 'entries')} by ${fingerprint}`),
    "Compare this with the author's `parley trail keys` over another channel, and give that key with --key.",
  ]
}

function fileReportLines(report: ExportReport, paint: Paint): readonly string[] {
  const { run, entries, head, findings, problems, sound } = report
  const what = `${run}, ${plural(entries, 'entry', 'entries')} up to ${head.seq}${report.ended ? ', finished' : ', not finished when it was exported'}`
  if (!sound) {
    return [
      ...problems.map(problem => `${paint('bad', 'file')} ${oneLine(problem)}`),
      ...findings
        .slice(0, 1)
        .map(
          ({ damage, message }) => `${paint('bad', damage)} ${oneLine(message)}${andMore(findings.length, 'finding')}`,
        ),
      `${paint('bad', 'Damaged:')} ${what}. Do not rely on it; ask for the file again.`,
    ]
  }
  return [
    `${paint('good', 'Sound:')} ${what}.`,
    `head      ${run}:${head.seq}:${head.hash}`,
    `exported  ${moment(report.exported_at)}`,
    `content   ${contentText(report)}`,
    ...report.signers.map(
      ({ fingerprint, entries: signed, trusted }) =>
        `signed    ${plural(signed, 'entry', 'entries')} by ${fingerprint}${trusted ? ', which you trust' : ''}`,
    ),
  ]
}

function contentText({ content, objects, sealed_objects, left_out, bridged }: ExportReport): string {
  const gone =
    bridged > 0 ? `; ${plural(bridged, 'entry', 'entries')} deleted after retention, with only their hashes left` : ''
  if (content === 'none')
    return `left out: ${plural(left_out.objects, 'object')}, ${bytes(left_out.bytes)}; the record alone is verified${gone}`
  const sealed =
    sealed_objects > 0 ? `, ${sealed_objects} of them sealed: only the profile they come from can read those` : ''
  return `${plural(objects, 'object')}${sealed}${gone}`
}

/** What a sound file does not prove if no key was given. */
function unprovenLines({ signatures, sound }: ExportReport, paint: Paint): readonly string[] {
  if (!sound || signatures === 'trusted') return []
  const why =
    signatures === 'none'
      ? 'Nothing in this file is signed.'
      : 'The signatures were checked only against the keys in the file.'
  return [
    `${paint('bad', 'NOT PROVEN')} who made it. ${why}`,
    "Anyone could have made this file. Get its author's public key over another channel, and give it with --key.",
  ]
}
