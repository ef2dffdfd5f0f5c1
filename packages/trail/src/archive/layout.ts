// Where archives lie: `runs/<run>/<number>.zst` and `cold/<run>/<number>.zst`, each with its manifest
// `<number>.json.zst` (the first ones: `<number>.json`). The manifest makes an archive exist. Only names of runs hold
// no dot.
import type { RunId } from '@parley/core'
import type { Files } from '../log/files.ts'

export const COLD = 'cold'
export const RUNS = 'runs'
export const SNAPSHOTS = 'snapshots'
/** Beside the runs in the cold tier and its replica: blobs that they refer to, snapshots, and keys. */
export const COLD_BLOBS = 'blobs.d'
export const COLD_SNAPSHOTS = 'snapshots.d'
/** The public keys that have signed. */
export const COLD_KEYS = 'keys.json'
/** Says that there is a replica, and in it, of which trail. */
export const MARK = 'replica.json'

/** In the folder of a run in the cold tier: all of it is there. */
export const WHOLE = 'run.json'

/** An id as a name that cannot lead out of its folder. */
export function safeName(id: string): string {
  return encodeURIComponent(id).replaceAll('.', '%2E').replaceAll('*', '%2A')
}

export function runOf(name: string): RunId {
  return decodeURIComponent(name) as RunId
}

export function recordsFile(folder: string, archive: number): string {
  return `${folder}/${archive}.zst`
}

export function manifestFile(folder: string, archive: number): string {
  return `${folder}/${archive}.json.zst`
}

export function firstManifestFile(folder: string, archive: number): string {
  return `${folder}/${archive}.json`
}

/** The same place in the replica. */
export function withoutTier(path: string): string {
  return path.slice(path.indexOf('/') + 1)
}

/** The number that a file's name begins with, and whether it is a manifest. */
export function archiveName(name: string): { readonly archive: number; readonly manifest: boolean } | undefined {
  const [, number, kind] = /^(\d+)\.(json|json\.zst|zst)$/.exec(name) ?? []
  return number === undefined ? undefined : { archive: Number(number), manifest: kind !== 'zst' }
}

/** A file that was being written when the process ended. */
export function isTorn(name: string): boolean {
  return /^\d+\.(json\.zst|zst)\.tmp$/.test(name)
}

export function runFolders(files: Files, root: string): string[] {
  return files.list(root).filter(name => !name.includes('.'))
}

/** A copy of the cold tier shown as a trail's folder without a log; only runs that are whole in it are visible. */
export function coldFiles(cold: Files): Files {
  const inside = (path: string) => (path.startsWith(`${COLD}/`) ? path.slice(COLD.length + 1) : undefined)
  const readOnly = (): never => {
    throw Object.assign(new Error('EROFS: a copy of the cold tier is only read'), { code: 'EROFS' })
  }
  return {
    open: (path, how) => (how === 'create' ? readOnly() : cold.open(inside(path) ?? path, how)),
    list: path => {
      if (path === COLD) return runFolders(cold, '').filter(name => cold.exists(`${name}/${WHOLE}`))
      const folder = inside(path)
      return folder === undefined ? [] : cold.list(folder)
    },
    exists: path => inside(path) !== undefined && cold.exists(inside(path)!),
    makeFolder: readOnly,
    rename: readOnly,
    remove: readOnly,
    removeFolder: readOnly,
    syncFolder: async () => readOnly(),
    free: () => 0,
  }
}

/** Makes a folder whose name, and those above it, last. */
export async function madeFolder(files: Files, folder: string): Promise<void> {
  if (folder === '') return
  files.makeFolder(folder)
  const parts = folder.split('/')
  for (let depth = parts.length - 1; depth >= 0; depth--) {
    await files.syncFolder(parts.slice(0, depth).join('/'))
  }
}

/** The part of a folder below another one. */
export function below(files: Files, folder: string): Files {
  const inside = (path: string) => (path === '' ? folder : `${folder}/${path}`)
  return {
    open: (path, how) => files.open(inside(path), how),
    list: path => files.list(inside(path)),
    exists: path => files.exists(inside(path)),
    makeFolder: path => files.makeFolder(inside(path)),
    rename: (from, to) => files.rename(inside(from), inside(to)),
    remove: path => files.remove(inside(path)),
    removeFolder: path => files.removeFolder(inside(path)),
    syncFolder: path => files.syncFolder(inside(path)),
    free: () => files.free(),
  }
}
