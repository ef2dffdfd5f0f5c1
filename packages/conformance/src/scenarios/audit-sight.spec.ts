// Ceilings, sight and consent: scenarios from the text alone (wacp-audit, section of that name).
import { deepStrictEqual } from 'node:assert'
import { notCreated } from '../entry-rows.ts'
import type { Kit } from '../kit.ts'
import { scenario } from '../scenario.ts'

const OPEN = { gates: { task_approval: false } }

async function inject(kit: Kit, name: string, user: string, to: string, type = 'directive'): Promise<void> {
  kit.name((await kit.do(user, 'inject', { ...kit.mail(to, type) })).envelope, name)
  await kit.settle()
}

scenario(
  'WX-061 only a directive that reached the creator says for whom work is done; the root cites any',
  { level: 2, rules: ['W-USER-10', 'W-TOPO-CAUS-03'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['inject_directive_any'])
    await kit.delegate('D')
    await kit.delegate('E')
    await inject(kit, 'Q', 'ux', 'D', 'query')
    await inject(kit, 'TR', 'ux', 'R')
    await inject(kit, 'TE', 'ux', 'E')
    await inject(kit, 'TD', 'ux', 'D')
    await kit.mark()
    for (const [by, caused_by] of [
      ['D', 'Q'],
      ['D', 'TR'],
      ['D', 'TE'],
      ['R', 'Q'],
    ] as const) {
      const draft = { role: 'worker', caused_by }
      await kit.refuses('REJECTED', by, 'create_workspace', draft, 'invalid_parameters')
      await kit.expectAdded([notCreated(by, 'invalid_parameters')])
    }
    const tasks = [{ key: 'T', name: 'T', description: 'do it' }]
    await kit.refuses('INVALID_ARGUMENT', 'R', 'submit_graph', { tasks, caused_by: 'Q' })
    await kit.workspace('C', { caused_by: 'TD' }, 'D')
    await kit.workspace('X', { caused_by: 'TE' })
    for (const [name, originator] of Object.entries({ C: 'ux', X: 'ux', D: 'system' }))
      deepStrictEqual((await kit.look(name)).originator, originator, name)
  },
)
