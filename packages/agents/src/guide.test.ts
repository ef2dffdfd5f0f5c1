// What docs/guide/agents.md says is so: its tables are the code's own, its examples run.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandFields, outputNames, promptModes } from './command/config.ts'
import { passedByDefault } from './command/environment.ts'
import { agentDefaults, agentLimits } from './limits.ts'
import { presetCommand, presetNames, presets } from './presets.ts'
import { Workshop } from './testing/workshop.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guide/agents.md'), 'utf8')

function block(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(guide)![1]!
}

/** The cells of a row by what stands first in it. */
function row(first: string): string[] {
  const line = guide.split('\n').find(each => each.startsWith(`| \`${first}\` |`))
  if (line === undefined) throw new Error(`The guide has no row '${first}'.`)
  return line.split('|').slice(2, -1)
}

test('every field of the configuration has a row, with its default', () => {
  for (const field of [...Object.keys(commandFields), 'timeout']) row(field)
  expect(row('timeout')[1]).toContain(`\`${agentDefaults.timeout}\``)
  expect(row('max_output')[1]).toContain(`\`${agentDefaults.maxOutput}\``)
  for (const mode of promptModes) expect(row('prompt')[0]).toContain(`\`${mode}\``)
  for (const name of outputNames) expect(row('output')[0]).toContain(`\`${name}\``)
})

test.each(presetNames)('the row of the preset %s says what it runs and what it needs', name => {
  const preset = presets[name]
  const [runs, hosts, credentials] = row(name)
  expect(runs!.trim()).toBe(`\`${presetCommand(name).join(' ')}\``)
  for (const host of preset.needs.hosts) expect(hosts).toContain(host)
  const { variables, files } = preset.needs.credentials
  for (const each of [...variables, ...files]) expect(credentials).toContain(`\`${each}\``)
})

test('the variables that everybody gets are those of the guide', () => {
  for (const name of passedByDefault)
    expect(guide).toContain(`\`${name === name.toLowerCase() ? name.toUpperCase() : name}\``)
})

test('the limits are those of the guide', () => {
  expect(guide).toContain(`at most ${agentLimits.argumentBytes.toLocaleString('en')} bytes`)
  expect(guide).toContain(`| the answer | the last ${agentLimits.resultLength.toLocaleString('en')} characters |`)
  expect(guide).toContain(`${agentLimits.eventsPerWindow} in ${agentDefaults.windowMs} ms`)
})

test('the agent of a few lines of shell works', async () => {
  const shop = new Workshop()
  mkdirSync(join(shop.work, 'src'))
  writeFileSync(join(shop.work, 'src', 'a.txt'), 'TODO one\nTODO two\n')
  const { result } = await shop.take({ command: [shop.file('agent', block('sh'))], output: 'json-lines' })
  expect(result).toMatchObject({
    outcome: 'complete',
    text: expect.stringMatching(/^\s*2 places$/),
    usage: { usd: 0 },
  })
  expect(readFileSync(join(shop.work, 'prompt.md'), 'utf8')).toBe('do it\n')
})
