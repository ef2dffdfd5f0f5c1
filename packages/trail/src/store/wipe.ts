// Wiping from the log what was deleted for good (W-TRAIL-28), so that no index made anew finds it there.
import type { Manifest } from '../archive/manifest.ts'
import type { SegmentReader } from '../log/reader.ts'
import { KIND_ENTRY, type RecordSpan, readObject, recordRun } from '../log/record.ts'
import type { LogWriter } from '../log/writer.ts'

export async function wipeRecords(
  reader: SegmentReader,
  writer: LogWriter,
  { run, entries, objects }: Manifest,
): Promise<void> {
  const seqs = new Set(entries.map(({ seq }) => seq))
  const ids = new Set(objects.map(({ id }) => id))
  const gone = (source: Buffer, span: RecordSpan) =>
    recordRun(source, span) === run &&
    (span.kind === KIND_ENTRY ? seqs.has(span.seq) : ids.has(readObject(source, span).id))
  const newest = reader.segments().at(-1)
  // What is being written to cannot be changed.
  if (newest !== undefined && reader.some(newest, gone)) await writer.roll()
  for (const segment of reader.segments().slice(0, -1)) await reader.wipe(segment, gone)
}
