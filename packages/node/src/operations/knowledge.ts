// /knowledge: the Knowledge Blocks of this profile, for its owner. What programs do with them goes over ALX.
import { readFile, stat } from 'node:fs/promises'
import type { Result as AlxResult, ProtocolError } from '@alx/protocol'
import type { BlockEntry, BlockQuery, KbAct, Knowledge } from '@parley/alx'
import { ok, ParleyError, type Principal, type Result, refuse, Type } from '@parley/core'
import { alxLimits } from '../alx/limits.ts'
import { nodeLimits } from '../limits.ts'
import { object } from '../object.ts'
import type { OperationDeps } from './deps.ts'
import {
  answered,
  answerOf,
  callError,
  caller,
  FOUND,
  mutation,
  orNull,
  query,
  Reason,
  streamed,
  subscription,
  TRAIL,
  text,
} from './spec.ts'

const Meant = text(66, 'The kbHash of a block, or a beginning of it that is unique')
const OfBlock = object({ block: Meant })
const Json = Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object' })

const BlockSchema = object({
  kbHash: Type.String(),
  kbId: orNull(Type.String()),
  type: Type.String(),
  domain: Type.String(),
  tier: orNull(Type.String()),
  curator: Type.String(),
  createdAt: Type.String(),
  status: Type.String({ description: 'active, deprecated or slashed' }),
  shared: Type.Boolean({ description: 'Of a restricted block: everybody may read it' }),
  trusted: Type.Boolean({ description: 'The owner lets procedures like this be executed' }),
  made: Type.Boolean({ description: 'By a run, or of a team’s plan' }),
  queryFee: Type.String(),
})
const RegisteredSchema = object({ kbHash: Type.String(), isNew: Type.Boolean() })

const READ = ['invalid_argument', ...FOUND, 'unavailable', ...TRAIL] as const
const CHANGED = [...READ, 'permission_denied', 'kb_refused'] as const

/** Pieces of an export are at most so long. */
const PIECE = 65_536

export function knowledgeService({ alx }: Pick<OperationDeps, 'alx'>) {
  const knowledge = async () => {
    try {
      return await alx.knowledge()
    } catch (thrown) {
      throw callError(thrown)
    }
  }
  /** The block that is meant, by its hash. */
  const found = async (meant: string, reader: Principal) => {
    const known = await knowledge()
    return { known, kbHash: answered(blockMeant(known, meant, reader)) }
  }
  const done = async (meant: string, by: Principal, act: KbAct, reason: string | undefined) => {
    const { known, kbHash } = await found(meant, by)
    return await answerOf(known.act(by, kbHash, act, reason).then(asResult))
  }
  const act = (description: string, doing: KbAct) =>
    mutation({
      description,
      input: object({ block: Meant, reason: Type.Optional(Reason) }),
      output: BlockSchema,
      refuses: CHANGED,
      handle: ({ block, reason }, { identity }) => done(block, caller(identity), doing, reason),
    })
  return {
    '/knowledge/list': query({
      description: 'Knowledge Blocks that the owner may read, in the order of their registration.',
      input: object({
        type: Type.Optional(text(64)),
        domain: Type.Optional(text(alxLimits.domainLength)),
        status: Type.Optional(text(32, 'active, deprecated or slashed')),
        own: Type.Optional(Type.Boolean({ description: 'Only those that the owner registered' })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: alxLimits.listed })),
        after: Type.Optional(text(66, 'The kbHash behind which the page begins')),
      }),
      output: object({ blocks: Type.Array(BlockSchema), next: Type.Optional(Type.String()) }),
      refuses: READ,
      handle: async (input, { identity }) => {
        const page = answered(asResult((await knowledge()).list(caller(identity), input as BlockQuery)))
        return { blocks: [...page.blocks], ...(page.next !== undefined && { next: page.next }) }
      },
    }),
    '/knowledge/search': query({
      description: 'Full text among the blocks that the owner may read, the best first.',
      input: object({
        text: text(alxLimits.searchLength),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: alxLimits.listed })),
      }),
      output: object({ blocks: Type.Array(BlockSchema) }),
      refuses: READ,
      handle: async ({ text, limit }, { identity }) => ({
        blocks: await answerOf((await knowledge()).search(caller(identity), text, limit).then(asResult)),
      }),
    }),
    '/knowledge/show': query({
      description: 'One block with its envelope, its attribution and its reputation.',
      input: OfBlock,
      output: object({
        block: BlockSchema,
        envelope: Json,
        attribution: Type.Array(Json),
        reputation: object({ score: Type.Number() }),
      }),
      refuses: READ,
      handle: async ({ block }, { identity }) => {
        const reader = caller(identity)
        const { known, kbHash } = await found(block, reader)
        const { envelope, attribution } = await answerOf(known.read(kbHash, reader).then(asResult))
        const entry = answered(entryOf(known, kbHash, reader))
        const score = known.reputation(reader, kbHash)?.score ?? 0
        return { block: entry, envelope: { ...envelope }, attribution: [...attribution], reputation: { score } }
      },
    }),
    '/knowledge/verify': query({
      description: 'Computes the hash of a registered block again, from what is on record.',
      input: OfBlock,
      output: object({ kbHash: Type.String(), valid: Type.Boolean(), computed: Type.String() }),
      refuses: READ,
      handle: async ({ block }, { identity }) => {
        const reader = caller(identity)
        const { known, kbHash } = await found(block, reader)
        const { envelope } = await answerOf(known.read(kbHash, reader).then(asResult))
        const { kbHash: computed } = await answerOf(known.verify({ envelope }).then(asResult))
        return { kbHash, valid: computed === kbHash, computed }
      },
    }),
    '/knowledge/lineage': query({
      description: 'What a block comes from, or what comes from it.',
      input: object({ block: Meant, direction: Type.Optional(Type.Enum(['ancestors', 'descendants'])) }),
      output: object({
        root: Type.String(),
        nodes: Type.Array(object({ kbHash: Type.String(), depth: Type.Integer(), pathCount: Type.String() })),
        edges: Type.Array(object({ from: Type.String(), to: Type.String() })),
        leaves: Type.Array(Type.String()),
      }),
      refuses: [...READ, 'kb_refused'],
      handle: async ({ block, direction = 'ancestors' }, { identity }) => {
        const reader = caller(identity)
        const { known, kbHash } = await found(block, reader)
        const { root, nodes, edges, leaves } = await answerOf(known.lineage(kbHash, direction, reader).then(asResult))
        return { root, nodes: [...nodes], edges: [...edges], leaves: [...leaves] }
      },
    }),
    '/knowledge/export': subscription({
      description: 'A block and everything that it comes from as a file, in pieces: another Parley can verify it.',
      input: OfBlock,
      output: object({ text: Type.String() }),
      refuses: [...READ, 'kb_refused'],
      async *handle({ block }, { identity }) {
        const reader = caller(identity)
        const { known, kbHash } = await found(block, reader)
        const file = await answerOf(known.export(reader, kbHash).then(asResult))
        yield* streamed(piecesOf(file))
      },
    }),
    '/knowledge/import': mutation({
      description: 'Registers the blocks of a file that `/knowledge/export` made; all of it is checked first.',
      input: object({ file: text(nodeLimits.pathLength, 'Absolute path') }),
      output: object({ blocks: Type.Array(RegisteredSchema) }),
      refuses: [...CHANGED, 'file_not_found', 'file_unreadable'],
      handle: async ({ file }, { identity }) => {
        const content = await answerOf(fileText(file))
        const registered = await answerOf((await knowledge()).import(caller(identity), content).then(asResult))
        return { blocks: registered.map(({ kbHash, isNew }) => ({ kbHash, isNew })) }
      },
    }),
    '/knowledge/trust': mutation({
      description: 'Lets a procedure be executed by the teams of this node, or not any more. For the owner.',
      input: object({
        block: Meant,
        undo: Type.Optional(Type.Boolean({ description: 'Take it back' })),
        reason: Type.Optional(Reason),
      }),
      output: BlockSchema,
      refuses: CHANGED,
      handle: ({ block, undo, reason }, { identity }) =>
        done(block, caller(identity), undo ? 'distrust' : 'trust', reason),
    }),
    '/knowledge/share': act('Lets everybody read a restricted block. For its curator.', 'share'),
    '/knowledge/deprecate': act('Marks a block as superseded: it is selected no more. For its curator.', 'deprecate'),
    '/knowledge/slash': act('Marks a block as bad: it earns nothing and is selected no more. For the owner.', 'slash'),
  }
}

/** What ALX refuses, with codes of this node. */
export function asResult<T>(result: AlxResult<T>): Result<T> {
  return result.ok ? result : { ok: false, error: refusalOf(result.error) }
}

export function refusalOf({ type, code, message, suggestion }: ProtocolError): ParleyError {
  const words = [`${message}.`.replace(/\.\.$/, '.'), suggestion].filter(each => each !== undefined).join(' ')
  const said = words.charAt(0).toUpperCase() + words.slice(1)
  return new ParleyError(BY_TYPE[type] ?? 'kb_refused', said, {
    retryable: type === 'unavailable',
    details: { alx: code },
  })
}

const BY_TYPE: Readonly<Record<string, string>> = {
  not_found: 'not_found',
  validation: 'invalid_argument',
  auth: 'permission_denied',
  unavailable: 'unavailable',
}

const HASH = /^0x[0-9a-f]{64}$/
const BEGINNING = /^(?:0x)?[0-9a-f]{4,64}$/

/** By its hash, or by a beginning that no other block has. */
function blockMeant(known: Knowledge, meant: string, reader: Principal): Result<string> {
  const lower = meant.toLowerCase()
  if (HASH.test(lower)) return ok(lower)
  if (!BEGINNING.test(lower))
    return refuse('invalid_argument', `${meant} is not the hash of a block, or four digits or more of its beginning.`)
  const start = lower.startsWith('0x') ? lower : `0x${lower}`
  const fit: string[] = []
  for (const { kbHash } of allBlocks(known, reader)) if (kbHash.startsWith(start)) fit.push(kbHash)
  const [only, other] = fit
  if (only === undefined) return refuse('not_found', `There is no Knowledge Block ${meant}.`)
  if (other === undefined) return ok(only)
  return refuse('ambiguous', `Several Knowledge Blocks begin with ${meant}.`, { details: { blocks: fit.slice(0, 10) } })
}

function entryOf(known: Knowledge, kbHash: string, reader: Principal): Result<BlockEntry> {
  for (const block of allBlocks(known, reader)) if (block.kbHash === kbHash) return ok(block)
  return refuse('not_found', `There is no Knowledge Block ${kbHash}.`)
}

function* allBlocks(known: Knowledge, reader: Principal): Generator<BlockEntry> {
  for (let after: string | undefined; ; ) {
    const page = known.list(reader, { limit: alxLimits.listed, ...(after !== undefined && { after }) })
    if (!page.ok) return
    yield* page.value.blocks
    after = page.value.next
    if (after === undefined) return
  }
}

async function* piecesOf(file: string): AsyncGenerator<{ readonly text: string }> {
  for (let at = 0; at < file.length; at += PIECE) yield { text: file.slice(at, at + PIECE) }
}

async function fileText(file: string): Promise<Result<string>> {
  try {
    const { size } = await stat(file)
    if (size > alxLimits.fileCharacters) return refuse('invalid_argument', `${file} is too large.`)
    return ok(await readFile(file, 'utf8'))
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return refuse('file_not_found', `There is no file ${file}.`)
    return refuse('file_unreadable', `${file} cannot be read (${code}).`)
  }
}
