// `npm run clis -- --record`: what each program prints in a turn, as fixtures for the tests of its parser. Whatever is
// of this machine or of this day is replaced.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inTurn, team } from './checks/check.ts'
import type { Program } from './programs.ts'
import type { Around } from './run.ts'
import { troubles } from './server/dialect.ts'
import type { Script } from './server/model-server.ts'
import { World } from './world.ts'

const FIXTURES = join(import.meta.dirname, '..', 'packages', 'agents', 'src', 'command', 'parsers', 'fixtures')

const work = ({ write, run }: Program): Script =>
  inTurn(
    { text: 'I write it.', calls: [write('hello.txt', 'hello')] },
    { calls: [run('cat hello.txt')] },
    { text: 'I wrote hello.txt.' },
  )

/** A turn that is worth keeping, by the name of its fixture. */
export const recordings: Readonly<Record<string, (program: Program) => Script>> = {
  work,
  ...Object.fromEntries(troubles.map(trouble => [trouble, () => () => ({ trouble })])),
}

export async function record(runs: Around, names: readonly string[], tell: (text: string) => void) {
  for (const program of runs.programs)
    for (const name of names) {
      const file = join(FIXTURES, `${program.name}-${name}.txt`)
      writeFileSync(file, await turnOf(runs, program, recordings[name]!(program)))
      tell(file)
    }
}

async function turnOf({ bundle, bin }: Around, program: Program, script: Script): Promise<string> {
  const world = await World.make(bundle, [bin(program)], [program])
  try {
    const seen = join(world.folder, 'seen')
    mkdirSync(seen)
    const wrapper = join(world.folder, 'bin', program.name)
    const real = join(bin(program), program.name)
    const run = `{ '${real}' "$@"; echo $? >'${seen}/code'; } 2>'${seen}/err' | tee '${seen}/out'`
    writeFileSync(wrapper, `#!/bin/sh\n${run}\nexit "$(cat '${seen}/code')"\n`)
    chmodSync(wrapper, 0o755)
    world.team(team(program, { agent: ', timeout: 90s', rest: 'limits: { attempts: 1 }\n' }))
    world.server.script = script
    await world.solve('Write hello into hello.txt.')
    const printed = (name: string) => cleaned(readFileSync(join(seen, name), 'utf8'), world, bin(program))
    const [out, err] = [printed('out'), printed('err')]
    return `${out.trimEnd()}\n${err.trim() === '' ? '' : `--- standard error\n${err.trimEnd()}\n`}`
  } finally {
    await world.close(false)
  }
}

const CLEAN: readonly (readonly [RegExp, string])[] = [
  [/\/[^\s"'\\]*?\/work\/ws_[a-z0-9]+/g, '/work-folder'],
  [/\b(?:run|ws|task)[_-]01[a-z0-9]{20,}/g, 'id'],
  [/\/tmp\/cc-socks\/\d+/g, '/world/socket'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:8080'],
  [/\b20\d\d-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z?)?/g, '2026-01-01T00:00:00Z'],
  [/\b1[789]\d{11}\b/g, '1767225600000'],
  [/\b1[789]\d{8}\b/g, '1767225600'],
]

/** What tells one message or call from another is numbered. */
const IDS =
  /\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:ses|msg|prt|call|toolu|req)_[A-Za-z0-9]{6,})\b/g

function cleaned(text: string, { folder }: World, bin: string): string {
  const placed = text
    .replaceAll(join(bin, '..', '..'), '/clis')
    .replaceAll(folder, '/world')
    .replaceAll(folder.replaceAll('/', '-'), '-world')
  const ids = new Map<string, string>()
  const numbered = placed.replaceAll(IDS, id => {
    if (!ids.has(id)) ids.set(id, `id-${ids.size + 1}`)
    return ids.get(id)!
  })
  return CLEAN.reduce((shown, [found, instead]) => shown.replaceAll(found, instead), numbered)
}
