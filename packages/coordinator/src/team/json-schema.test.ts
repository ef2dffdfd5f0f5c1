import { compile, type TSchema } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { FULL, teamSchema } from './testing/teams.ts'

const schema: TSchema = JSON.parse(JSON.stringify(teamSchema))
const validator = compile(schema)

test('every field has a title and a description', () => {
  interface Node {
    readonly title?: string
    readonly description?: string
    readonly properties?: Record<string, Node>
    readonly additionalProperties?: boolean | Node
    readonly items?: Node
  }
  const bare: string[] = []
  let fields = 0
  const visit = (node: Node, path: string) => {
    for (const [key, field] of Object.entries(node.properties ?? {})) {
      fields++
      if (!field.title || !field.description?.endsWith('.')) bare.push(`${path}.${key}`)
      visit(field, `${path}.${key}`)
    }
    for (const below of [node.additionalProperties, node.items]) {
      if (typeof below === 'object') visit(below, `${path}.*`)
    }
  }
  visit(schema, '')
  expect(bare).toEqual([])
  expect(fields).toBe(173)
})

describe('an editor with the schema', () => {
  const solo = 'version: 1\nname: solo\nagents: { one: { preset: codex } }\n'

  test.each([FULL, solo])('accepts a good file', text => {
    expect(validator.problems(parse(text))).toEqual([])
  })

  test.each([
    ['an unknown key', FULL.replace('approval:', 'aproval:')],
    ['an unknown key of a task', FULL.replace('title:', 'titel:')],
    ['a missing key', FULL.replace('  - id: build\n    agent', '  - agent')],
    ['no version', FULL.replace('version: 1\n', '')],
    ['another version', FULL.replace('version: 1', 'version: 2')],
    ['a wrong type', FULL.replace('check: [npm, test]', 'check: npm test')],
    ['an empty value', FULL.replace('paths: []', 'paths:')],
    ['a value outside a set', FULL.replace('urgent', 'high')],
    ['a number out of range', FULL.replace('concurrency: 8', 'concurrency: 65')],
    ['a bad name', FULL.replace('name: release-check', 'name: Release')],
    ['a bad agent name', FULL.replaceAll('writer', 'Writer')],
    ['a bad duration', FULL.replace('1h30m', '1.5h')],
    ['a bad size', FULL.replace('1MiB', '1.5MiB')],
    ['a path out of the project', FULL.replace('report/**', '../report/**')],
    ['a need twice', FULL.replace('[build]', '[build, build]')],
    ['no agents', solo.replace('{ one: { preset: codex } }', '{}')],
    ['an empty plan', `${solo}plan: []\n`],
    ['a file that is a list', '- a\n'],
  ])('refuses %s', (_, text) => {
    expect(text).not.toBe(FULL)
    expect(validator.is(parse(text))).toBe(false)
  })
})
