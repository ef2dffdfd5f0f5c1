// Evidence for others, asked for at random moments: runs as files that verify offline (W-TRAIL-16, -23), and the proof
// chain of single acts (W-SEC-17). What is sound is proven; what was changed by one bit is not.
import { formatTimestamp, type RunId } from '@parley/core'
import type { ProofReport } from '@parley/kernel'
import { type ExportReport, verifyExport } from '@parley/trail'
import type { ByteSource, VerifyExportOptions } from '@parley/trail/testing'
import type { RunModel } from '../model/model.ts'
import type { Dice } from '../random.ts'
import type { Problem } from '../rules/rule.ts'
import type { World } from '../world/world.ts'
import { violated } from './invariants.ts'

export async function exportRun(world: World, dice: Dice): Promise<void> {
  const { watch, config, life } = world
  const run = dice.maybe([...world.models.values()].filter(each => each.seq > 0))
  if (!run || watch.troubled) return
  const upTo = dice.chance(0.5) ? undefined : dice.between(1, run.seq)
  const at = formatTimestamp(life.clock.now())
  const content = dice.pick(['stored', 'none', 'opened'] as const)
  const exported = await life.trail.export(run.id as RunId, { at, upTo, content })
  const last = upTo ?? run.seq
  if (!exported.ok) {
    const missing = run.gone.has(run.drafts[last - 1]!.id)
    violated('W-TRAIL-16 every run can be exported', missing ? undefined : exported.error.message)
    return
  }
  const parts: Buffer[] = []
  for await (const part of exported.value) parts.push(part)
  const bytes = Buffer.concat(parts)
  const known = config.signed ? { keys: [dice.pick(life.trail.keys).key] } : {}
  const report = await verifyExport(inMemory(bytes), known)
  violated('W-TRAIL-16 an exported run verifies offline', reportProblem(report, run, last, config.signed))
  if (!dice.chance(0.3)) return
  const spoiled = Buffer.from(bytes)
  const place = dice.int(spoiled.length)
  spoiled[place] = spoiled[place]! ^ (1 << dice.int(8))
  violated('W-TRAIL-16 a file that was changed is found out', await spoiledProblem(spoiled, known, place))
}

function reportProblem(report: ExportReport, run: RunModel, last: number, signed: boolean): Problem {
  const { sound, findings, problems, head, entries, bridged, signatures } = report
  if (!sound) return `${run.id}: ${findings[0]?.message ?? problems[0]}`
  const gone = run.drafts.slice(0, last).filter(({ id }) => run.gone.has(id)).length
  if (head.seq !== last || entries !== last || bridged !== gone)
    return `${run.id} has ${last} entries, ${gone} of them gone; the file ${entries} up to ${head.seq}, ${bridged} gone`
  if (last === run.seq && head.hash !== run.head) return `${run.id} ends with ${head.hash}, not ${run.head}`
  return signatures === (signed ? 'trusted' : 'none') ? undefined : `its signatures are ${signatures}`
}

async function spoiledProblem(bytes: Buffer, known: VerifyExportOptions, place: number): Promise<Problem> {
  try {
    const { sound } = await verifyExport(inMemory(bytes), known)
    return sound ? `byte ${place} of ${bytes.length} is another, and nobody noticed` : undefined
  } catch {
    return undefined
  }
}

function inMemory(bytes: Buffer): ByteSource {
  return { size: bytes.length, read: async (at, length) => bytes.subarray(at, at + length) }
}

export async function prove(world: World, dice: Dice): Promise<void> {
  const run = dice.maybe([...world.models.values()].filter(each => each.seq > 0 && world.runs.has(each.id)))
  if (!run || world.watch.troubled) return
  const seq = dice.between(1, run.seq)
  const proven = await world.runs.get(run.id)!.proof(seq)
  const gone = run.gone.has(run.drafts[seq - 1]!.id)
  const wrong = proven.ok
    ? proofProblem(run, proven.value, world.config.signed, world.config.runtime.secret !== undefined)
    : gone
      ? undefined
      : proven.error.message
  violated('W-SEC-17 every act can be proven from what is stored', wrong)
}

function proofProblem(run: RunModel, report: ProofReport, signed: boolean, secret: boolean): Problem {
  const { seq, event_type, identity, message, link, signature, party } = report
  const say = (step: string, { detail }: { readonly detail: string }) =>
    `${step} of entry ${seq}, ${event_type} of ${run.id}: ${detail}`
  if (run.drafts[seq - 1]!.id !== report.entry) return `entry ${seq} is ${report.entry}`
  if (link.status !== 'verified') return say('link', link)
  if (signature.status !== (signed ? 'verified' : 'missing')) return say('signature', signature)
  if (identity.status === 'failed') return say('identity', identity)
  // What was deleted after its retention proves nothing any more.
  if (run.gone.size > 0) return undefined
  if (message.status === 'failed' || (secret && message.status === 'missing')) return say('message', message)
  const named = party === 'agent' || party === 'coordinator'
  return named && identity.status === 'missing' ? say('identity', identity) : undefined
}
