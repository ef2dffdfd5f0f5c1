// `npm run trail -- COMMAND`: looks at a trail on disk. Everything has --json; exit codes: 0 sound, 1 findings, 2 wrong use, 3 cannot be opened.
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { asParleyError, formatTimestamp, ParleyError, type RunId, unwrap } from '@parley/core'
import { openTrail, type Trail } from '@parley/trail'

const USAGE = `usage: npm run trail -- COMMAND [--profile FOLDER] [--json]

  show              the runs on record
  show RUN          the entries of one run   [--after SEQ] [--limit N]
  verify            recompute every chain, anchor and signature
  verify RUN        of one run               [--expect-head SEQ:HASH]
  check             verify, and look for blobs that are missing, damaged or that nobody refers to

The profile is the one of npm start (~/.parley/demo; PARLEY_HOME moves ~/.parley) unless --profile names another.`

const { values, positionals } = parse()
const [command, run] = positionals
const profile = values.profile ?? join(process.env.PARLEY_HOME ?? join(homedir(), '.parley'), 'demo')

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        profile: { type: 'string' },
        json: { type: 'boolean', default: false },
        after: { type: 'string', default: '0' },
        limit: { type: 'string', default: '100' },
        'expect-head': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (cause) {
    console.error(`${cause instanceof Error ? cause.message : cause}\n\n${USAGE}`)
    process.exit(2)
  }
}

function say(data: unknown, lines: readonly string[]): void {
  console.log(values.json ? JSON.stringify(data, null, 2) : lines.join('\n'))
}

async function show(trail: Trail): Promise<number> {
  if (run === undefined) {
    const runs = await trail.runs()
    const lines = runs.map(
      each =>
        `${each.run}  ${formatTimestamp(each.created)}  ${String(each.entries).padStart(8)} entries  ${each.ended ? 'ended' : 'open'}`,
    )
    say(runs, lines.length > 0 ? lines : ['no runs yet'])
    return 0
  }
  const page = unwrap(
    await trail.run(run as RunId).query({ after: Number(values.after), limit: Number(values.limit) }),
  )
  const lines = page.entries.map(
    entry =>
      `${String(entry.seq).padStart(6)}  ${entry.timestamp}  ${entry.actor.padEnd(10)}  ${entry.event_type.padEnd(28)}  ${entry.workspace ?? '-'}`,
  )
  if (page.more) lines.push(`… more behind --after ${page.cursor}`)
  say(page, lines.length > 0 ? lines : [`no entries in ${run}`])
  return 0
}

function expectedHead(): { knownHeads?: { run: RunId; seq: number; hash: string }[] } {
  const expected = values['expect-head']
  if (expected === undefined) return {}
  const match = /^(\d+):([0-9a-f]{64})$/.exec(expected)
  if (!match || run === undefined)
    throw new ParleyError('invalid_argument', '--expect-head takes SEQ:HASH and a RUN.')
  return { knownHeads: [{ run: run as RunId, seq: Number(match[1]), hash: match[2]! }] }
}

async function verify(trail: Trail): Promise<number> {
  const options = expectedHead()
  const report =
    run === undefined
      ? await trail.verifyAll(options)
      : { runs: [await trail.run(run as RunId).verify(options)], unreadable: [] }
  const findings = report.runs.flatMap(each => each.findings)
  const entries = report.runs.reduce((sum, each) => sum + each.entries, 0)
  const lines = [
    ...trail.damage.map(each => `damage: ${each.message}`),
    ...report.unreadable.map(where => `unreadable: ${where}`),
    ...findings.map(finding => `${finding.damage} (${finding.violation}): ${finding.message}`),
    findings.length === 0 && report.unreadable.length === 0
      ? `sound: ${entries} entries in ${report.runs.length} runs`
      : `${findings.length} findings in ${entries} entries of ${report.runs.length} runs`,
  ]
  say({ damage: trail.damage, ...report }, lines)
  return findings.length + report.unreadable.length + trail.damage.length > 0 ? 1 : 0
}

async function check(trail: Trail): Promise<number> {
  const verified = await verify(trail)
  const blobs = await trail.checkBlobs()
  const listed = (['missing', 'damaged', 'garbage'] as const).flatMap(kind =>
    blobs[kind].map(name => `${kind} blob: ${name}`),
  )
  say(blobs, [...listed, `${blobs.blobs} blobs, ${blobs.bytes} bytes`])
  return Math.max(verified, blobs.missing.length + blobs.damaged.length > 0 ? 1 : 0)
}

const commands: Readonly<Record<string, (trail: Trail) => Promise<number>>> = { show, verify, check }
const action = commands[command ?? '']
if (values.help || !action) {
  ;(values.help ? console.log : console.error)(USAGE)
  process.exit(values.help ? 0 : 2)
}
try {
  const trail = await openTrail(profile)
  try {
    process.exitCode = await action(trail)
  } finally {
    await trail.close()
  }
} catch (cause) {
  const error = asParleyError(cause)
  console.error(values.json ? JSON.stringify(error) : `${error.code}: ${error.message}`)
  process.exitCode = error.code === 'invalid_argument' ? 2 : 3
}
