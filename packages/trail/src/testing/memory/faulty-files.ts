// The file layer in memory, with the faults of a real disk: the nth write or sync fails, space runs out, a power loss
// keeps, loses or tears each sector that was not synced, names made since the last folder sync vanish, bits flip.
import type { Files, LogFile, OpenMode } from '../../log/files.ts'

const SECTOR = 512

/** What one file holds: as the operating system sees it, and as the platters do. */
interface Content {
  bytes: Buffer
  size: number
  durable: Buffer
  durableSize: number
  /** Sectors that the next sync will write, and those that one is writing now. */
  dirty: Set<number>
  syncing: Set<number>
  /** Sectors whose sync failed: the system takes them for clean, so no later sync writes them. */
  forsaken: Set<number>
}

type NameChange = { readonly path: string; readonly content: Content | undefined }

type Operation = 'read' | 'write' | 'sync' | 'open' | 'folder' | 'remove'

function systemError(code: string, operation: string): Error {
  return Object.assign(new Error(`${code}: ${operation} failed (injected)`), { code, syscall: operation })
}

function grow(bytes: Buffer, size: number): Buffer {
  if (bytes.length >= size) return bytes
  const larger = Buffer.alloc(Math.max(size, bytes.length * 2, 4096))
  bytes.copy(larger)
  return larger
}

class FaultyFile implements LogFile {
  readonly #files: FaultyFiles
  readonly #content: Content
  #open = true

  constructor(files: FaultyFiles, content: Content) {
    this.#files = files
    this.#content = content
  }

  get size(): number {
    return this.#content.size
  }

  write(data: Uint8Array, at: number): void {
    this.#check()
    const fault = this.#files.takeFault('write')
    const room = this.#files.room(Math.max(0, at + data.length - this.#content.size))
    // A write that fails may have got part of the way.
    const length = fault || room < 0 ? Math.floor(data.length / 2) : data.length
    const content = this.#content
    content.bytes = grow(content.bytes, at + length)
    content.bytes.set(data.subarray(0, length), at)
    content.size = Math.max(content.size, at + length)
    for (let sector = Math.floor(at / SECTOR); sector * SECTOR < at + length; sector++) {
      content.dirty.add(sector)
      content.forsaken.delete(sector)
    }
    if (fault) throw systemError(fault, 'write')
    if (room < 0) throw systemError('ENOSPC', 'write')
  }

  async sync(): Promise<void> {
    this.#check()
    const content = this.#content
    const syncing = content.dirty
    content.dirty = new Set()
    content.syncing = syncing
    // A sync takes time: the power may go in the middle of it.
    await new Promise(resolve => setImmediate(resolve))
    this.#check()
    content.syncing = new Set()
    const fault = this.#files.takeFault('sync')
    if (fault) {
      for (const sector of syncing) content.forsaken.add(sector)
      throw systemError(fault, 'fdatasync')
    }
    content.durable = grow(content.durable, content.size)
    content.durable.fill(0, content.size)
    for (const sector of syncing) {
      const end = Math.min((sector + 1) * SECTOR, content.size)
      content.bytes.copy(content.durable, sector * SECTOR, sector * SECTOR, end)
    }
    content.durableSize = content.size
  }

  read(at: number, length: number): Buffer {
    this.#check()
    const fault = this.#files.takeFault('read')
    if (fault) throw systemError(fault, 'read')
    const end = Math.min(at + length, this.#content.size)
    return Buffer.from(this.#content.bytes.subarray(Math.min(at, end), end))
  }

  truncate(size: number): void {
    this.#check()
    this.#content.bytes.fill(0, size)
    this.#content.size = size
  }

  close(): void {
    this.#open = false
  }

  #check(): void {
    if (!this.#open || this.#files.dead) throw systemError('EBADF', 'file access')
  }
}

export class FaultyFiles implements Files {
  /** Set by a crash: whoever still holds this instance is a process that died. */
  dead = false
  /** Bytes that all files together may take. */
  capacity = Number.POSITIVE_INFINITY
  #names = new Map<string, Content>()
  #durableNames = new Map<string, Content>()
  #changes: NameChange[] = []
  #faults: { operation: Operation; after: number; times: number; code: string }[] = []

  /** Lets operations of one kind fail: the first `after` succeed, the next `times` fail. */
  fail(operation: Operation, options: { after?: number; times?: number; code?: string } = {}): void {
    this.#faults.push({
      operation,
      after: options.after ?? 0,
      times: options.times ?? 1,
      code: options.code ?? 'EIO',
    })
  }

  /** Ends all injected faults. */
  mend(): void {
    this.#faults = []
    this.capacity = Number.POSITIVE_INFINITY
  }

  /** Turns one bit over, in memory and on the platters alike. */
  flip(path: string, offset: number, bit = 0): void {
    const content = this.#find(path)
    for (const bytes of [content.bytes, content.durable]) bytes[offset] = (bytes[offset] ?? 0) ^ (1 << bit)
  }

  /** Cuts a file short behind everybody's back. */
  cut(path: string, size: number): void {
    const content = this.#find(path)
    content.bytes.fill(0, size)
    content.durable.fill(0, size)
    content.size = size
    content.durableSize = size
  }

  /** A copy of everything, as another disk would hold it. */
  copy(): FaultyFiles {
    return this.#restart(
      content => ({ ...content, bytes: Buffer.from(content.bytes), durable: Buffer.from(content.durable) }),
      this.#names,
    )
  }

  /** The power goes: what a machine finds when it starts again. This instance is dead from here on. */
  crash(random: () => number): FaultyFiles {
    this.dead = true
    const names = new Map(this.#durableNames)
    const kept = Math.floor(random() * (this.#changes.length + 1))
    for (const change of this.#changes.slice(0, kept)) {
      if (change.content) names.set(change.path, change.content)
      else names.delete(change.path)
    }
    return this.#restart(content => afterPowerLoss(content, random), names)
  }

  #restart(copy: (content: Content) => Content, names: Map<string, Content>): FaultyFiles {
    const next = new FaultyFiles()
    const copies = new Map<Content, Content>()
    for (const [path, content] of names) {
      const fresh = copies.get(content) ?? copy(content)
      copies.set(content, fresh)
      next.#names.set(path, fresh)
      next.#durableNames.set(path, fresh)
    }
    return next
  }

  open(path: string, how: OpenMode): LogFile {
    this.#alive()
    const fault = this.takeFault('open')
    if (fault) throw systemError(fault, 'open')
    const known = this.#names.get(path)
    if (how !== 'create') {
      if (!known) throw systemError('ENOENT', 'open')
      return new FaultyFile(this, known)
    }
    if (known) throw systemError('EEXIST', 'open')
    const content: Content = {
      bytes: Buffer.alloc(0),
      size: 0,
      durable: Buffer.alloc(0),
      durableSize: 0,
      dirty: new Set(),
      syncing: new Set(),
      forsaken: new Set(),
    }
    this.#change(path, content)
    return new FaultyFile(this, content)
  }

  list(folder: string): string[] {
    this.#alive()
    const prefix = folder === '' ? '' : `${folder}/`
    const names = new Set<string>()
    for (const path of this.#names.keys()) {
      if (path.startsWith(prefix)) names.add(path.slice(prefix.length).split('/')[0]!)
    }
    return [...names].sort()
  }

  exists(path: string): boolean {
    this.#alive()
    return this.#names.has(path)
  }

  makeFolder(): void {
    this.#alive()
  }

  rename(from: string, to: string): void {
    this.#alive()
    const content = this.#find(from)
    this.#change(from, undefined)
    this.#change(to, content)
  }

  removeFolder(): void {
    this.#alive()
  }

  remove(path: string): void {
    this.#alive()
    const fault = this.takeFault('remove')
    if (fault) throw systemError(fault, 'unlink')
    this.#find(path)
    this.#change(path, undefined)
  }

  async syncFolder(folder: string): Promise<void> {
    this.#alive()
    const fault = this.takeFault('folder')
    if (fault) throw systemError(fault, 'fsync')
    const inside = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/'))) === folder
    for (const change of this.#changes.filter(change => inside(change.path))) {
      if (change.content) this.#durableNames.set(change.path, change.content)
      else this.#durableNames.delete(change.path)
    }
    this.#changes = this.#changes.filter(change => !inside(change.path))
  }

  free(): number {
    return Math.max(0, this.room(1))
  }

  /** For the files of this layer: the error code that this operation must fail with, if any. */
  takeFault(operation: Operation): string | undefined {
    for (const fault of this.#faults) {
      if (fault.operation !== operation) continue
      if (fault.after > 0) {
        fault.after--
        continue
      }
      if (fault.times === 0) continue
      fault.times--
      return fault.code
    }
    return undefined
  }

  /** For the files of this layer: bytes left once a file has grown by `more`. */
  room(more: number): number {
    if (more === 0 || this.capacity === Number.POSITIVE_INFINITY) return more === 0 ? 0 : Number.POSITIVE_INFINITY
    let used = 0
    for (const content of this.#names.values()) used += content.size
    return this.capacity - used - more
  }

  #change(path: string, content: Content | undefined): void {
    if (content) this.#names.set(path, content)
    else this.#names.delete(path)
    this.#changes.push({ path, content })
  }

  #find(path: string): Content {
    const content = this.#names.get(path)
    if (!content) throw systemError('ENOENT', 'access')
    return content
  }

  #alive(): void {
    if (this.dead) throw systemError('EBADF', 'access after a crash')
  }
}

/** Each sector that was not synced is, by chance, as it was, as it should be, or torn in the middle. */
function afterPowerLoss(content: Content, random: () => number): Content {
  const size =
    content.durableSize === content.size || random() < 0.5
      ? content.durableSize
      : content.durableSize + Math.floor(random() * (content.size - content.durableSize + 1))
  const bytes = Buffer.alloc(size)
  content.durable.copy(bytes, 0, 0, Math.min(size, content.durableSize))
  for (const sector of [...content.dirty, ...content.syncing, ...content.forsaken]) {
    const start = sector * SECTOR
    const chance = random()
    const length = chance < 0.4 ? 0 : chance < 0.8 ? SECTOR : Math.floor(random() * SECTOR)
    const end = Math.min(start + length, size, content.size)
    if (end > start) content.bytes.copy(bytes, start, start, end)
  }
  return {
    bytes,
    size,
    durable: Buffer.from(bytes),
    durableSize: size,
    dirty: new Set(),
    syncing: new Set(),
    forsaken: new Set(),
  }
}
