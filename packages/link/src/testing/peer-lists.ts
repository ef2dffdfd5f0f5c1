// Peer lists for tests, on real files in a folder of their own.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { SystemClock } from '@parley/core'
import type { Disk } from '@parley/keys/files'
import { linkPaths } from '../identity/files.ts'
import { PeerList } from '../peers/peer-list.ts'
import { temporaryFolder } from './homes.ts'
import { identityOf } from './vectors.ts'

export const [alice, bob, carol] = ['alice', 'bob', 'carol'].map(name => identityOf(name).id) as [
  string,
  string,
  string,
]

export function listed(text?: string, disk?: Disk) {
  const paths = linkPaths(temporaryFolder())
  mkdirSync(dirname(paths.peers), { recursive: true })
  if (text !== undefined) writeFileSync(paths.peers, text)
  const failed: string[] = []
  const options = {
    clock: new SystemClock(),
    lock: paths.peersLock,
    failed: (what: string) => void failed.push(what),
  }
  const list = new PeerList(paths.peers, { ...options, ...(disk && { disk }) })
  return {
    list,
    path: paths.peers,
    lock: paths.peersLock,
    failed,
    text: () => readFileSync(paths.peers, 'utf8'),
  }
}
