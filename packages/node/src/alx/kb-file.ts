// Checking Knowledge Blocks in a file without a node and without asking anybody: their hashes prove them (ALX-KB-05).
import { checkKbEnvelope, verifyKBArtifact } from '@alx/protocol'
import { readExport } from '@parley/alx'
import { ok, type Result, refuse } from '@parley/core'
import { alxLimits } from './limits.ts'

export interface CheckedBlock {
  readonly kbHash: string
  readonly type: string
  readonly domain: string
}

export interface CheckedFile {
  /** `export`: of `parley kb export`, with everything a block comes from. `block`: one alone, its sources elsewhere. */
  readonly kind: 'export' | 'block'
  readonly blocks: readonly CheckedBlock[]
}

/** Refuses with `kb_invalid`, and says why. */
export function verifyBlockFile(text: string): Result<CheckedFile> {
  if (text.length > alxLimits.fileCharacters) return invalid('The file is too large.')
  const value = parsed(text)
  if (value === undefined) return invalid('The file is not JSON.')
  if ('format' in value) {
    const read = readExport(text)
    if (!read.ok) return invalid(`The file does not verify: ${read.error.message}.`)
    return ok({ kind: 'export', blocks: read.value.map(({ input }) => blockOf(input.envelope)) })
  }
  // As it is registered, or as the server tells it: an envelope beside its hash.
  const { envelope = value, kbHash } = value as { readonly envelope?: object; readonly kbHash?: unknown }
  const presented = { ...envelope, ...(kbHash !== undefined && { kbHash }) }
  const checked = checkKbEnvelope(presented as Parameters<typeof checkKbEnvelope>[0])
  if (!checked.ok) return invalid(`The block does not verify: ${checked.error.message}.`)
  return ok({ kind: 'block', blocks: [blockOf(checked.value.envelope)] })
}

function blockOf(envelope: { readonly type: string; readonly domain: string; readonly payload: object }): CheckedBlock {
  const { kbHash } = verifyKBArtifact({ manifest: envelope as never })
  return { kbHash, type: envelope.type, domain: envelope.domain }
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

function invalid(why: string) {
  return refuse('kb_invalid', why)
}
