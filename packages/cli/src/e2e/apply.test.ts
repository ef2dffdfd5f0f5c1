// From a run to a commit on the user's branch and back, with real processes: also where the node is killed in the
// middle of it.
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunView } from '../node/views.ts'
import { World } from '../testing/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const log = () => world.git('log', '--format=%s')
const status = () => world.git('status', '--porcelain')

test('solve, diff, apply, undo, and apply again: the branch has it once, the record says who', async () => {
  const run = await world.solved('Tidy up')
  expect(await world.ok('diff')).toContain('+swept\n')
  await world.ok('apply')
  expect([log(), status(), existsSync(join(world.project, 'floor.txt'))]).toEqual(['Tidy up\nx\nx', '', true])
  expect(world.git('log', '-1', '--format=%an')).toBe('Mira')
  expect(await world.ok('apply', run)).toContain('already')
  await world.ok('undo')
  expect([log(), status()]).toEqual(['x\nx', ''])
  await world.ok('apply', '--patch')
  expect(status()).toBe('A  floor.txt\nA  table.txt')
  world.git('commit', '--quiet', '-m', 'By hand')
  const { applied } = await world.json<RunView>('show')
  expect(applied!.map(({ how, undone }) => [how, undone !== undefined])).toEqual([
    ['squash', true],
    ['patch', false],
  ])
})

/** A git that kills the node before or after one of its calls. */
function deadlyGit(node: number): (when: string) => void {
  const [die, real] = [join(world.folder, 'die'), world.git('--exec-path')]
  const file = join(world.folder, 'bin', 'git')
  writeFileSync(
    file,
    [
      '#!/bin/sh',
      `if [ -f '${die}' ]; then`,
      `  read -r when what < '${die}'`,
      '  case " $* " in *" $what "*)',
      `    rm '${die}'`,
      `    [ "$when" = after ] && '${real}/git' "$@"`,
      `    kill -9 ${node}`,
      '    exit 1',
      '  esac',
      'fi',
      `exec '${real}/git' "$@"`,
      '',
    ].join('\n'),
  )
  chmodSync(file, 0o755)
  return when => writeFileSync(die, `${when}\n`)
}

test.each([
  ['before commit-tree', 'nothing'],
  ['before read-tree -m -u', 'all of it'],
  ['after read-tree -m -u', 'all of it'],
  ['before update-ref -m', 'all of it'],
  ['after update-ref -m', 'all of it'],
])('a node that is killed %s leaves %s of an apply, after the next start', async (when, left) => {
  const run = await world.solved('Tidy up')
  await world.stop()
  const node = await world.up()
  deadlyGit(node.child.pid!)(when)
  expect((await world.parley('apply')).code).not.toBe(0)
  await node.ended
  const { applied = [] } = await world.json<RunView>('show', run)
  expect([log(), status(), applied.length]).toEqual(left === 'nothing' ? ['x\nx', '', 0] : ['Tidy up\nx\nx', '', 1])
  await world.ok('apply')
  expect([log(), status()]).toEqual(['Tidy up\nx\nx', ''])
  await world.ok('undo')
  expect([log(), status()]).toEqual(['x\nx', ''])
})
