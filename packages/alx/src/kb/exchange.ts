// Knowledge Blocks as a file, and back: another Parley takes them in without asking anybody, for everything in the
// file can be computed again. ALX defines no such file; this is ours, `parley-kb/1`:
//
// One JSON object, UTF-8: `{format: "parley-kb/1", blocks: [...]}`. Each block has `kbHash`, `envelope` (its seven
// members), `kbId` (a label, if it has one), `attribution`, `queryFee`, and `curator`, `createdAt` and `status` as they
// were where it was exported. Each comes behind its sources, all of which are in the file. `kbHash` proves `envelope`;
// links are checked like those of a registration; the rest are claims of whoever wrote the file, kept as `origin` and
// of no effect. Who imports a block is its curator there. Trust is not carried: `parley kb trust` gives it.
import {
  type AttributionLink,
  checkAttribution,
  checkKbEnvelope,
  type KbEnvelope,
  type KbRegisterInput,
  parseKbRegisterInput,
  type Result,
} from '@alx/protocol'
import { compile, Type } from '@parley/core'
import { type Block, type Blocks, mayRead } from './blocks.ts'
import type { Envelopes } from './envelopes.ts'
import { kbLimits } from './limits.ts'
import { kbNotFound, refused } from './refusals.ts'

const FORMAT = 'parley-kb/1'

const kbFile = compile(
  Type.Object({
    format: Type.Literal(FORMAT),
    blocks: Type.Array(
      Type.Object({
        kbHash: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
        envelope: Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' }),
        kbId: Type.Optional(Type.String()),
        attribution: Type.Array(Type.Unsafe<AttributionLink>({})),
        queryFee: Type.String(),
        curator: Type.String({ minLength: 1, maxLength: 256 }),
        createdAt: Type.String({ minLength: 1, maxLength: 64 }),
        status: Type.String(),
      }),
      { minItems: 1, maxItems: kbLimits.exportedBlocks },
    ),
  }),
)

/** What a file brings, checked, in an order in which it can be registered. */
export interface Imported {
  readonly input: KbRegisterInput
  readonly origin: { readonly curator: string; readonly createdAt: string }
}

/** The block with everything it comes from. Throws what reading the library throws. */
export async function exportBlock(
  user: string,
  kbHash: string,
  { blocks, envelopes }: { readonly blocks: Blocks; readonly envelopes: Envelopes },
): Promise<Result<string>> {
  const ordered = withAncestors(user, kbHash, blocks)
  if (!ordered.ok) return ordered
  const lines: string[] = []
  let characters = 0
  for (const block of ordered.value) {
    const line = JSON.stringify(fileEntry(block, await envelopes.envelope(block)))
    characters += line.length
    if (characters > kbLimits.exportedCharacters) return tooLarge(kbHash)
    lines.push(line)
  }
  return { ok: true, value: `{"format":"${FORMAT}","blocks":[\n${lines.join(',\n')}\n]}\n` }
}

/** All of it is checked before anything is taken in, so that a bad file changes nothing. */
export function readExport(text: string): Result<readonly Imported[]> {
  if (text.length > kbLimits.exportedCharacters * 2) return notAnExport('it is too large')
  const file = kbFile.check(parseJson(text))
  if (!file.ok) return notAnExport(file.error.message)
  const before = new Set<string>()
  const imported: Imported[] = []
  for (const { kbHash, envelope, kbId, attribution, queryFee, curator, createdAt } of file.value.blocks) {
    const checked = checkKbEnvelope({ ...envelope, kbHash })
    if (!checked.ok) return notAnExport(`block ${kbHash}: ${checked.error.message}`)
    const stranger = checked.value.envelope.sources.find(source => !before.has(source))
    if (stranger !== undefined) return notAnExport(`block ${kbHash} comes before its source ${stranger}`)
    const links = checkAttribution(attribution, { kbHash, sources: checked.value.envelope.sources })
    if (!links.ok) return notAnExport(`block ${kbHash}: ${links.error.message}`)
    const input = parseKbRegisterInput({
      envelope: checked.value.envelope,
      attribution: links.value,
      queryFee,
      ...(kbId !== undefined && { kbId }),
    })
    if (!input.ok) return notAnExport(`block ${kbHash}: ${input.error.message}`)
    imported.push({ input: input.value, origin: { curator, createdAt } })
    before.add(kbHash)
  }
  return { ok: true, value: imported }
}

function fileEntry(block: Block, envelope: KbEnvelope) {
  const { kbHash, kbId, attribution, queryFee, curator, createdAt, status } = block
  return { kbHash, envelope, ...(kbId !== null && { kbId }), attribution, queryFee, curator, createdAt, status }
}

/** Each behind its sources. A block whose sources the user may not all read cannot be verified by another Parley. */
function withAncestors(user: string, root: string, blocks: Blocks): Result<readonly Block[]> {
  const ordered = new Map<string, Block>()
  const open = new Set<string>()
  const stack = [root]
  for (let kbHash = stack.at(-1); kbHash !== undefined; kbHash = stack.at(-1)) {
    const block = blocks.get(kbHash)
    if (!block || !mayRead(user, block)) return kbNotFound(kbHash)
    if (ordered.size + open.size > kbLimits.exportedBlocks) return tooLarge(root)
    const missing = block.sources.filter(source => !ordered.has(source))
    if (missing.some(source => open.has(source))) return refused('CYCLE_DETECTED', `${root} is among its own sources`)
    if (missing.length === 0) {
      stack.pop()
      open.delete(kbHash)
      ordered.set(kbHash, block)
    } else {
      open.add(kbHash)
      stack.push(missing[0]!)
    }
  }
  return { ok: true, value: [...ordered.values()] }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function notAnExport(why: string) {
  return refused('INVALID_REQUEST', `this is no export of Knowledge Blocks that can be used: ${why}`)
}

function tooLarge(kbHash: string) {
  return refused('INVALID_REQUEST', `${kbHash} and its sources are too many, or too large, for one file`)
}
