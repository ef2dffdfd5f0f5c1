// Reading an exported run a part at a time, with bounded memory. Bad parts are reported as problems, never thrown.
import { createHash, hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import { ParleyError } from '@parley/core'
import { isSystemError } from '../log/files.ts'
import { EXPORT_FORMAT, EXPORT_NAME, FIRST_LINE, PART_HEADER, type PartFrame, readPartHeader } from './format.ts'

const decompress = promisify(zstdDecompress)

/** Bytes that can be read anywhere; fewer than asked for only at their end. */
export interface ByteSource {
  readonly size: number
  read(at: number, length: number): Promise<Buffer>
}

export interface ExportPart {
  readonly number: number
  readonly kind: number
  /** As it is, and not compressed. */
  readonly raw: boolean
  /** Undefined where it cannot be had. */
  readonly content: Buffer | undefined
  readonly problem: string | undefined
  /** SHA-256 of every byte of the file before this part. */
  readonly before: string
}

/** Opens a file for as long as `use` takes. Fails with `file_not_found`, `file_unreadable`. */
export async function withFile<T>(path: string, use: (source: ByteSource) => Promise<T>): Promise<T> {
  let file: FileHandle | undefined
  try {
    file = await open(path, 'r')
    const found = await file.stat()
    if (!found.isFile()) throw unreadable(path, 'It is not a file.')
    return await use(fileSource(file, found.size, path))
  } catch (cause) {
    if (cause instanceof ParleyError || !isSystemError(cause)) throw cause
    const missing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR'
    if (missing) throw new ParleyError('file_not_found', `There is no file ${path}.`, { details: { path }, cause })
    throw unreadable(path, `The system says ${cause.code}.`, cause)
  } finally {
    await file?.close()
  }
}

function fileSource(file: FileHandle, size: number, path: string): ByteSource {
  return {
    size,
    async read(at, length) {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - at)))
      let filled = 0
      while (filled < bytes.length) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, at + filled)
        if (bytesRead === 0) throw unreadable(path, 'It became shorter while it was read.')
        filled += bytesRead
      }
      return bytes
    },
  }
}

function unreadable(path: string, why: string, cause?: unknown): ParleyError {
  return new ParleyError('file_unreadable', `${path} cannot be read. ${why}`, { details: { path }, cause })
}

/** Fails with `not_an_export` and `export_version`. */
export async function checkFirstLine(source: ByteSource): Promise<void> {
  const line = (await source.read(0, 64)).toString('latin1').split('\n', 1)[0]!
  if (line === EXPORT_FORMAT && source.size >= FIRST_LINE.length) return
  const version = line.startsWith(`${EXPORT_NAME}/`) ? line.slice(EXPORT_NAME.length + 1) : undefined
  if (version !== undefined && /^\d{1,9}$/.test(version)) {
    const message = `The file has format ${line}; this Parley reads ${EXPORT_FORMAT}. Use the version that wrote it.`
    throw new ParleyError('export_version', message, { details: { format: line } })
  }
  const message = `This is no exported run: it does not begin with '${EXPORT_FORMAT}'. \`parley trail export RUN --output FILE\` writes one.`
  throw new ParleyError('not_an_export', message)
}

/** The parts behind the first line. Where the next part cannot be located, the last one says so and reading ends. */
export async function* readParts(source: ByteSource): AsyncGenerator<ExportPart> {
  const digest = createHash('sha256').update(FIRST_LINE)
  let at = FIRST_LINE.length
  for (let number = 1; at < source.size; number++) {
    const before = digest.copy().digest('hex')
    const header = await source.read(at, PART_HEADER)
    const frame = readPartHeader(header)
    const end = at + PART_HEADER + (frame?.stored ?? 0)
    if (!frame || end > source.size) {
      const problem = frame
        ? `ends in the middle of it, ${end - source.size} bytes too early`
        : `cannot be read from byte ${at} on`
      yield { number, kind: 0, raw: false, content: undefined, problem, before }
      return
    }
    const stored = await source.read(at + PART_HEADER, frame.stored)
    digest.update(header).update(stored)
    yield { number, kind: frame.kind, raw: !frame.compressed, before, ...(await unpack(frame, stored)) }
    at = end
  }
}

/** Content that does not match its digest is still handed out: it may tell which entry was changed. */
async function unpack(frame: PartFrame, stored: Buffer): Promise<Pick<ExportPart, 'content' | 'problem'>> {
  let content: Buffer
  try {
    content = frame.compressed ? await decompress(stored, { maxOutputLength: Math.max(1, frame.length) }) : stored
  } catch {
    return { content: undefined, problem: 'is damaged and cannot be unpacked' }
  }
  const sound = content.length === frame.length && hash('sha256', content, 'hex') === frame.digest
  return { content, problem: sound ? undefined : 'is not what was written: its digest does not match' }
}
