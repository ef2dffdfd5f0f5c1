// Imports that a crash has cut off, before anybody reads the store: one that was not finished leaves nothing, one that
// was is brought to its end.
import type { Files } from '../log/files.ts'
import { IMPORTS, type ImportRecord, readImports, removeImport } from './import-record.ts'
import { placeStaged, removeStaged } from './staging.ts'

/**
 * The imports that count. Blobs of one that was not finished stay behind as garbage: others may have come to refer to
 * them.
 */
export async function recoverImports(files: Files): Promise<readonly ImportRecord[]> {
  const done: ImportRecord[] = []
  for (const record of readImports(files)) {
    if (record.state === 'done') {
      await placeStaged(files, record.run)
      done.push(record)
    } else {
      await removeStaged(files, record.run)
      await removeImport(files, record.run)
    }
  }
  // Nothing is on its way now: whatever is left is half of a file.
  const left = files.list(IMPORTS).filter(name => !name.endsWith('.json'))
  for (const name of left) files.remove(`${IMPORTS}/${name}`)
  if (left.length > 0) await files.syncFolder(IMPORTS)
  return done
}
