// Both stores pass the one suite.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSegmentStore } from '../open-trail.ts'
import { memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { trailStoreCompliance } from './compliance.ts'

trailStoreCompliance('segment log on disk, SQLite index', () => {
  const profile = mkdtempSync(join(tmpdir(), 'parley-store-'))
  return {
    open: () => openSegmentStore(profile),
    dispose: async () => rmSync(profile, { recursive: true }),
  }
})

trailStoreCompliance('segment log in memory', () => {
  const disks = memoryDisks()
  return { open: () => openMemoryStore(disks), dispose: async () => {} }
})
