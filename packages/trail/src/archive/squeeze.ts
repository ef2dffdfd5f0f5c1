// Compression of archives: on disk in libuv's thread pool, so that appends continue; in memory without threads.
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib'
import { indexLimits } from '../index/limits.ts'

export interface Squeeze {
  compress(bytes: Uint8Array): Promise<Buffer>
  /** Rejects what is not sound. */
  decompress(bytes: Uint8Array): Promise<Buffer>
}

// With a checksum, a flipped bit is found when an archive is read, and the replica can step in.
const PACK = { params: { [constants.ZSTD_c_checksumFlag]: 1 } }
const UNPACK = { maxOutputLength: indexLimits.archiveBytes }

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

export const pooledSqueeze: Squeeze = {
  compress: bytes => compress(bytes, PACK),
  decompress: bytes => decompress(bytes, UNPACK),
}

export const plainSqueeze: Squeeze = {
  compress: async bytes => zstdCompressSync(bytes, PACK),
  decompress: async bytes => zstdDecompressSync(bytes, UNPACK),
}

export function unpackSync(bytes: Uint8Array): Buffer {
  return zstdDecompressSync(bytes, UNPACK)
}
