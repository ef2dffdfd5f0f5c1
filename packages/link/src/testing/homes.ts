// Profiles on disk for tests: folders below the system's temporary one, with the keys of the vectors.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { linkPaths } from '../identity/files.ts'
import { identityVector } from './vectors.ts'

/** A folder that goes when the test is over. Short: the path of a socket is bounded. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'alp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Writes the key files of a vector's identity below a home. */
export function writeKeys(
  home: string,
  name: string,
  files: readonly ('private' | 'public')[] = ['private', 'public'],
): string {
  const paths = linkPaths(home)
  mkdirSync(dirname(paths.privateKey), { recursive: true, mode: 0o700 })
  const { private_pem, public_pem } = identityVector(name)
  if (files.includes('private')) writeFileSync(paths.privateKey, private_pem, { mode: 0o600 })
  if (files.includes('public')) writeFileSync(paths.publicKey, public_pem, { mode: 0o644 })
  return home
}
