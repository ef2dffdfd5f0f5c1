// What a node has to do in its life: small runs of quick commands, each with something of its own, and files of runs
// that were made elsewhere.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatTimestamp, SystemClock, SystemIds, unwrap } from '@parley/core'
import { openTrail } from '@parley/trail'
import { ScriptedRun } from '@parley/trail/testing'

export interface Team {
  readonly name: string
  readonly tasks: readonly string[]
  /** People are asked. */
  readonly gated: boolean
  readonly text: string
}

/** Appends a line: work that is done twice on the same folder shows. */
const WRITER = `writer: { command: [sh, -c, 'mkdir -p lines && echo "line of $PARLEY_TASK" >> lines/$PARLEY_TASK.txt && echo written'] }`
/** Says more than fits into the log itself. */
const TALKER = `writer: { command: [sh, -c, 'mkdir -p lines && echo "line of $PARLEY_TASK" >> lines/$PARLEY_TASK.txt && head -c 90000 /dev/zero | tr "\\\\0" x'] }`
const REVIEWER = `reviewer: { command: [sh, -c, 'echo ACCEPT'] }`

function team(name: string, agents: readonly string[], plan: Readonly<Record<string, string>>, more = ''): Team {
  const tasks = Object.entries(plan).map(
    ([id, rest]) => `  - { id: ${id}, agent: writer, prompt: Write., paths: ['lines/**']${rest} }`,
  )
  return {
    name,
    tasks: Object.keys(plan),
    gated: more.includes('gates'),
    text: `version: 1
name: ${name}
approval: none
limits: { attempts: 3 }
${more}agents:
${agents.map(each => `  ${each}`).join('\n')}
plan:
${tasks.join('\n')}
`,
  }
}

export const TEAMS: readonly Team[] = [
  team('chain', [WRITER], { a: '', b: ', needs: [a]', c: ', needs: [b]' }),
  team('checked', [WRITER], { a: ', check: [test, -s, lines/a.txt]', b: '', c: ', needs: [a, b]' }),
  team('reviewed', [WRITER, REVIEWER], { a: ', review: { by: reviewer }', b: ', needs: [a]' }),
  team('gated', [WRITER], { a: '', b: ', needs: [a]' }, 'gates: { integration: { timeout: never } }\n'),
  team('talking', [TALKER], { a: '', b: '' }),
]

/** The content of a task's file in the result. */
export const lineOf = (task: string): string => `line of ${task}\n`

export interface ForeignRun {
  readonly run: string
  readonly file: string
  readonly key: string
}

/** Runs of another profile as exported files, in a folder that whoever asks removes. */
export async function foreignRuns(folder: string, count: number): Promise<readonly ForeignRun[]> {
  const profile = mkdtempSync(join(tmpdir(), 'parley-faults-foreign-'))
  const clock = new SystemClock()
  const trail = await openTrail(profile)
  try {
    const made: ForeignRun[] = []
    for (let number = 1; number <= count; number++) {
      const script = await ScriptedRun.start(trail, new SystemIds(), clock)
      await script.workspace()
      await script.checkpoint(script.root)
      const file = join(folder, `foreign-${number}.parley`)
      const parts: Uint8Array[] = []
      const at = formatTimestamp(clock.now())
      for await (const part of unwrap(await trail.export(script.run.id, { at }))) parts.push(part)
      writeFileSync(file, Buffer.concat(parts))
      made.push({ run: script.run.id, file, key: trail.keys.at(-1)!.key })
    }
    return made
  } finally {
    await trail.close()
    rmSync(profile, { recursive: true, force: true })
  }
}
