// What verification of an exported run found.
import type { ExportReport } from '@parley/node'
import { bytes, moment, plural } from './format.ts'
import type { Paint } from './paint.ts'
import { oneLine } from './text.ts'
import { andMore } from './trail.ts'

export function fileReportLines(report: ExportReport, paint: Paint): readonly string[] {
  const { run, entries, head, findings, problems, sound } = report
  const what = `${run}, ${plural(entries, 'entry', 'entries')} up to ${head.seq}${report.ended ? ', finished' : ', not finished when it was exported'}`
  if (!sound) {
    return [
      ...problems.map(problem => `${paint('bad', 'file')} ${oneLine(problem)}`),
      ...findings
        .slice(0, 1)
        .map(
          ({ damage, message }) =>
            `${paint('bad', damage)} ${oneLine(message)}${andMore(findings.length, 'finding')}`,
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
    bridged > 0
      ? `; ${plural(bridged, 'entry', 'entries')} deleted after retention, only their hashes are left`
      : ''
  if (content === 'none')
    return `left out: ${plural(left_out.objects, 'object')}, ${bytes(left_out.bytes)}; the record alone is verified${gone}`
  const sealed =
    sealed_objects > 0
      ? `, ${sealed_objects} of them sealed: only the profile that they come from can read those`
      : ''
  return `${plural(objects, 'object')}${sealed}${gone}`
}

/** What a sound file does not prove where nobody gave a key. */
export function unprovenLines({ signatures, sound }: ExportReport, paint: Paint): readonly string[] {
  if (!sound || signatures === 'trusted') return []
  const why =
    signatures === 'none'
      ? 'Nothing in this file is signed.'
      : 'The signatures were checked only against the keys in the file itself.'
  return [
    `${paint('bad', 'NOT PROVEN')} who made it. ${why}`,
    'Anybody could have made this file. Get the public key of whoever it is from over another way, and give it with --key.',
  ]
}
