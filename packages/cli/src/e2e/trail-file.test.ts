// The record across machines, with real processes: exported from one home, verified and imported in another, with keys
// that change, and held against heads that were kept elsewhere.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { verifyExportFile } from '@parley/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HeadView, KeyView, RotationView, RunSummaryView, RunView, TrailPage, VerifyView } from '../node/views.ts'
import { teamFile } from '../testing/team.ts'
import { gone, World } from '../testing/world.ts'

let mira: World
let jon: World
beforeEach(() => {
  mira = new World()
  jon = new World()
})
afterEach(async () => {
  await mira.close()
  await jon.close()
})

const keyOf = async (world: World) => (await world.json<{ keys: KeyView[] }>('trail', 'keys')).keys.at(-1)!.key

/** What a command without a node prints; the exit code may be 1. */
type ExportReport = Awaited<ReturnType<typeof verifyExportFile>>

async function report(world: World, ...args: readonly string[]): Promise<ExportReport & { code: number | null }> {
  const { code, out } = await world.parley('trail', 'verify', ...args, '--json')
  return { code, ...(JSON.parse(out) as ExportReport) }
}

/** A finished run of Mira's as a file. */
async function exportedRun(): Promise<{ run: string; file: string; key: string }> {
  await mira.up()
  const run = await mira.solved('Tidy up')
  const file = join(mira.folder, 'run.parley')
  const written = await mira.parley('trail', 'export', run, '--output', file)
  expect(written).toMatchObject({ code: 0, out: expect.stringContaining(file) })
  return { run, file, key: await keyOf(mira) }
}

test('W-TRAIL-14 W-TRAIL-15 a default profile signs every entry and anchors those of workspaces; elsewhere a file and a key prove it', async () => {
  const { run, file, key } = await exportedRun()
  const { entries } = await mira.json<TrailPage>('trail', 'query', run, '--limit', '256')
  expect(entries.length).toBeGreaterThan(20)
  for (const { workspace, integrity } of entries) {
    expect(integrity).toMatchObject({ signer: key, signature: expect.stringMatching(/^[0-9a-f]{128}$/) })
    expect(integrity.local_hash !== undefined).toBe(workspace !== null)
  }
  // Nothing but the file and a key: no node is started, no profile is made.
  const alone = await jon.parley('trail', 'verify', '--file', file)
  expect(alone).toMatchObject({ code: 0, err: expect.stringContaining('NOT PROVEN who made it') })
  expect(await report(jon, '--file', file)).toMatchObject({
    code: 0,
    sound: true,
    signatures: 'file_keys_only',
  })
  const pub = join(mira.home, 'default', 'alp', 'secrets', 'alp_key.pub')
  expect(await report(jon, '--file', file, '--key-file', pub)).toMatchObject({
    code: 0,
    sound: true,
    run,
    signatures: 'trusted',
    signers: [{ key, trusted: true }],
  })
  const said = await jon.parley('trail', 'verify', '--file', file, '--key', key)
  expect(said).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Sound: run_/) })
  expect(readdirSync(jon.home)).toEqual([])
})

test('a run is imported into another home: shown, queried and verified there, and never continued', async () => {
  const { run, file, key } = await exportedRun()
  await jon.up()
  const own = await jon.solved('Sweep')
  const imported = await jon.parley('trail', 'import', file, '--key', key)
  expect(imported).toMatchObject({ code: 0, out: expect.stringContaining(`${run} is imported`) })
  expect((await jon.parley('trail', 'import', file, '--key', key)).out).toContain('already imported')
  expect((await jon.parley('runs')).out).toMatch(/Tidy up.*imported/)
  expect(await jon.json<RunView>('show')).toMatchObject({ run: own })
  const [here, there] = await Promise.all(
    [jon, mira].map(world => world.json<TrailPage>('trail', 'query', run, '--limit', '256')),
  )
  expect(here).toEqual(there)
  expect((await jon.parley('abort', run)).code).toBe(5)
  // After a crash of the node everything is as it was.
  const pid = jon.nodePid!
  process.kill(pid, 'SIGKILL')
  await gone(pid)
  expect(await jon.json<RunView>('show', run)).toMatchObject({
    intent: 'Tidy up',
    state: 'done',
    tasks_done: 2,
    imported: { from: expect.stringContaining('SHA256:') },
  })
  expect((await jon.parley('trail', 'verify')).code).toBe(0)
})

test('an unfinished run is exported up to where it is, imported without going on, and its later head is refused', async () => {
  mira.write(
    'parley.yaml',
    teamFile({ ask: 'parley ws block "Which floor?"' }, ['{ id: floor, agent: ask, prompt: x }']),
  )
  mira.commit()
  await mira.up()
  expect((await mira.parley('solve', 'Tidy up', '--yes')).code).toBe(5)
  const [file, later] = ['early.parley', 'later.parley'].map(name => join(mira.folder, name)) as [string, string]
  expect((await mira.parley('trail', 'export', '-o', file)).code).toBe(0)
  expect((await mira.parley('abort', 'last')).code).toBe(0)
  expect((await mira.parley('trail', 'export', '-o', later, '--no-content')).code).toBe(0)
  const key = await keyOf(mira)
  expect(await report(jon, '--file', file, '--key', key)).toMatchObject({ sound: true, ended: false })
  expect(await report(jon, '--file', later, '--key', key)).toMatchObject({
    sound: true,
    ended: true,
    content: 'none',
    objects: 0,
  })
  await jon.up()
  const { run } = await jon.json<{ run: string }>('trail', 'import', file, '--key', key)
  expect(await jon.json<RunView>('show', run)).toMatchObject({ imported: {}, gates: [] })
  expect((await jon.parley('gates')).out).toContain('No')
  const clash = await jon.parley('trail', 'import', later, '--key', key, '--json')
  expect(JSON.parse(clash.err)).toMatchObject({ error: { code: 'run_exists' } })
  const before = await jon.json<VerifyView>('trail', 'verify', run)
  // A start of the node is where runs that are not finished go on: this one does not.
  await jon.stop()
  expect(await jon.json<VerifyView>('trail', 'verify', run)).toEqual(before)
})

test('a file that was changed anywhere is refused: exit code 1, and nothing is imported', async () => {
  const { file, key } = await exportedRun()
  const sound = readFileSync(file)
  const bad = join(jon.folder, 'bad.parley')
  // The first line, the header, the records, the seal; every other byte: export.test.ts of the trail.
  const places = [3, 60, Math.floor(sound.length / 2), sound.length - 5]
  for (const at of places) {
    const changed = Buffer.from(sound)
    changed[at]! ^= 1
    writeFileSync(bad, changed)
    const { code, out, err } = await jon.parley('trail', 'verify', '--file', bad, '--key', key)
    expect(code, `byte ${at}: ${out}${err}`).toBe(1)
  }
  writeFileSync(bad, sound.subarray(0, Math.floor(sound.length / 2)))
  const cut = await report(jon, '--file', bad, '--key', key)
  expect(cut).toMatchObject({
    code: 1,
    sound: false,
    findings: expect.arrayContaining([expect.objectContaining({ damage: 'unreadable' })]),
  })
  const stranger = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo='
  // Undamaged, but of somebody whom nobody trusts here.
  expect(await report(jon, '--file', file, '--key', stranger)).toMatchObject({
    code: 5,
    undamaged: true,
    findings: expect.arrayContaining([expect.objectContaining({ seq: 1, damage: 'signature' })]),
  })
  await jon.up()
  expect((await jon.parley('trail', 'import', bad, '--key', key)).code).toBe(1)
  for (const given of [[], ['--key', stranger]]) {
    const { code, err } = await jon.parley('trail', 'import', file, ...given)
    expect(code).toBe(5)
    expect(err).toContain('The file is undamaged')
  }
  expect((await jon.json<{ runs: RunSummaryView[] }>('runs')).runs).toEqual([])
})

test('a key is replaced while the node runs: old and new verify what they signed, also elsewhere', async () => {
  const node = await mira.up()
  const early = await mira.solved('Tidy up')
  const old = await keyOf(mira)
  const asked = await mira.parley('trail', 'rotate-key')
  expect(asked).toMatchObject({ code: 5, err: expect.stringContaining('--yes') })
  const rotated = await mira.json<RotationView>('trail', 'rotate-key', '--yes')
  expect(rotated).toMatchObject({ old: { key: old }, new: { endorsed_by: old }, recorded: true })
  const late = await mira.solved('Sweep')
  expect((await mira.parley('trail', 'verify')).code).toBe(0)
  // It is on record in the house run, signed with the new key.
  const { heads } = await mira.json<{ heads: HeadView[] }>('trail', 'heads')
  const house = heads.map(({ run }) => run).find(run => run !== early && run !== late)!
  const page = await mira.json<TrailPage>('trail', 'query', house, '--type', 'authentication_succeeded', '--newest')
  const record = page.entries.find(({ body }) =>
    String((body as { method?: string }).method).startsWith('key_rotation'),
  )
  expect(record).toMatchObject({
    body: { method: `key_rotation ${rotated.old.fingerprint} ${rotated.new.fingerprint}` },
    integrity: { signer: rotated.new.key },
  })
  for (const [run, signer] of [
    [early, old],
    [late, rotated.new.key],
  ] as const) {
    const file = join(mira.folder, `${run}.parley`)
    await mira.parley('trail', 'export', run, '--output', file)
    for (const key of [old, rotated.new.key])
      expect(await report(jon, '--file', file, '--key', key)).toMatchObject({
        code: 0,
        sound: true,
        signers: [{ key: signer }],
      })
  }
  node.child.kill('SIGKILL')
  await node.ended
  expect((await mira.parley('trail', 'verify')).code).toBe(0)
  expect(await keyOf(mira)).toBe(rotated.new.key)
  // The old private key is nowhere any more.
  const secrets = join(mira.home, 'default', 'alp', 'secrets')
  expect(readdirSync(secrets).sort()).toEqual(['alp_key.pem', 'alp_key.pub', 'replay.jsonl'])
})

test('a record that was put back to an earlier state is found out by heads that were kept elsewhere', async () => {
  await mira.up()
  await mira.solved('Tidy up')
  await mira.stop()
  const [profile, copy] = [join(mira.home, 'default'), join(mira.folder, 'copy')]
  cpSync(profile, copy, { recursive: true })
  const late = await mira.solved('Sweep')
  const kept = (await mira.parley('trail', 'heads')).out.trim().split('\n')
  expect(kept.every(line => /^run_\w+:\d+:[0-9a-f]{64}$/.test(line))).toBe(true)
  const expected = kept.flatMap(line => ['--expect-head', line])
  expect((await mira.parley('trail', 'verify', ...expected)).code).toBe(0)
  await mira.stop()
  rmSync(profile, { recursive: true })
  cpSync(copy, profile, { recursive: true })
  expect(existsSync(join(profile, 'trail', 'heads'))).toBe(true)
  // All that this machine knows fits together again.
  expect((await mira.parley('trail', 'verify')).code).toBe(0)
  const found = await mira.parley('trail', 'verify', ...expected, '--json')
  expect(found.code).toBe(1)
  const { runs } = JSON.parse(found.out) as VerifyView
  expect(runs.find(({ run }) => run === late)).toMatchObject({ findings: [{ seq: 1, damage: 'truncated' }] })
})
