// Which key a profile has according to its public files, to recognize its node. Needs no secret and no cryptography.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { publicKeyOfPem } from '@parley/keys'
import { DiskFiles } from '../log/disk-files.ts'
import { KeyRing } from './key-ring.ts'

interface KnownKeys {
  /** The newest key of the list, and the published one, unless the list says that it was replaced. */
  readonly current: ReadonlySet<string>
  readonly former: ReadonlySet<string>
}

/** Undefined where the files are not there or may not be read. Throws `keys_unreadable`. */
export function knownKeys(profile: string): KnownKeys | undefined {
  const listed = listedKeys(join(profile, 'trail'))
  const published = publishedKey(join(profile, 'alp', 'secrets', 'alp_key.pub'))
  const newest = listed.at(-1)
  const former = new Set(listed.slice(0, -1))
  const current = [newest, published].filter(key => key !== undefined && !former.has(key)) as string[]
  return current.length === 0 ? undefined : { current: new Set(current), former }
}

function listedKeys(folder: string): readonly string[] {
  try {
    return new KeyRing(new DiskFiles(folder, { readOnly: true })).keys.map(({ key }) => key)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM' || code === 'ENOENT') return []
    throw thrown
  }
}

function publishedKey(file: string): string | undefined {
  try {
    // Opening a pipe would wait for a writer for good.
    return statSync(file).isFile() ? publicKeyOfPem(readFileSync(file, 'utf8')) : undefined
  } catch {
    return undefined
  }
}
