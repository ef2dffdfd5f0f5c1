import { expect, test } from 'vitest'
import { taskView } from '../testing/views.ts'
import { treeOf } from './tree.ts'

const drawn = (tasks: Parameters<typeof treeOf>[0]) =>
  treeOf(tasks).map(({ branch, task, also }) => `${branch}${task.id}${also.map(each => ` +${each}`).join('')}`)

test('a task stands below what it waits for, once, with the others named', () => {
  const tasks = [
    taskView('a'),
    taskView('b', { needs: ['a'] }),
    taskView('c', { needs: ['a'] }),
    taskView('d', { needs: ['b', 'c'] }),
    taskView('e'),
  ]
  expect(drawn(tasks)).toEqual(['├─ a', '│  ├─ b', '│  └─ c', '│     └─ d +b', '└─ e'])
})

test('a plan that is no plan still ends, with every task in it', () => {
  const tasks = [
    taskView('a', { needs: ['b', 'gone'] }),
    taskView('b', { needs: ['a'] }),
    taskView('c', { needs: ['c'] }),
  ]
  expect(treeOf(tasks).map(({ task }) => task.id)).toEqual(['a', 'b', 'c'])
})
