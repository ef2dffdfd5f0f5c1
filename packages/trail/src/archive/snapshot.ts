// Snapshots (W-TRAIL-30): all entries of a run up to a place in one immutable file of JSON lines, compressed in pieces.
import type { StoredRecord } from '../entry.ts'
import { type Files, writeWhole } from '../log/files.ts'
import { pause } from '../log/pause.ts'
import { COLD_SNAPSHOTS, madeFolder, SNAPSHOTS, safeName } from './layout.ts'
import type { Replica } from './replica.ts'
import type { Squeeze } from './squeeze.ts'

/** Entries that are compressed at once. */
const PIECE = 512

export async function writeSnapshot(
  { files, replica, squeeze }: { files: Files; replica: Replica | undefined; squeeze: Squeeze },
  id: string,
  upTo: number,
  records: AsyncIterable<StoredRecord>,
): Promise<number> {
  const pieces: Buffer[] = []
  let lines: string[] = []
  let count = 0
  const compress = async () => {
    if (lines.length > 0) pieces.push(await squeeze.compress(Buffer.from(`${lines.join('\n')}\n`)))
    lines = []
    await pause()
  }
  for await (const record of records) {
    if (record.kind !== 'entry') continue
    if (record.seq > upTo) break
    const { view, hash, signature, signer } = record
    lines.push(JSON.stringify({ view, hash, signature, signer }))
    count++
    if (lines.length === PIECE) await compress()
  }
  await compress()
  const packed = Buffer.concat(pieces)
  await replica?.put(`${COLD_SNAPSHOTS}/${safeName(id)}.zst`, packed)
  await madeFolder(files, SNAPSHOTS)
  await writeWhole(files, `${SNAPSHOTS}/${safeName(id)}.zst`, packed)
  return count
}
