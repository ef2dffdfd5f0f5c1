// An exported run in memory.
import type { ByteSource } from '../export/read.ts'

export function bytesInMemory(bytes: Buffer): ByteSource {
  return { size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) }
}
