// What may be created, and by whom: the checks of a creation in their order, and containment (wacp-primitives 1).
import { deepStrictEqual } from 'node:assert'
import { denied, notCreated } from '../../entry-rows.ts'
import type { RefusalCode } from '../../host.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-004 a creation that cannot be is refused with its reason, on record, and nothing exists',
  { level: 1, rules: ['W-WS-05', 'W-TAX-07', 'W-ROLE-02', 'W-ID-05'] },
  async kit => {
    await kit.worker('W')
    await kit.inState('F', 'failed')
    const isRejected = (reason: string) => ['REJECTED', notCreated('R', reason), reason] as const
    const isDenied = (capability: string) =>
      ['PERMISSION_DENIED', denied('R', 'system', capability), undefined] as const
    const faults: readonly (readonly [
      draft: Record<string, unknown>,
      how: readonly [code: RefusalCode, row: Row, reason: string | undefined],
    ])[] = [
      [{ role: 'butler' }, isRejected('unregistered_role')],
      [{ role: 'coordinator' }, isDenied('operation:create_workspace')],
      [{ role: 'worker', parent: 'nobody' }, isRejected('parent_not_found')],
      [{ role: 'worker', parent: 'F' }, isRejected('parent_terminal')],
      [{ role: 'worker', parent: 'W' }, isRejected('parent_not_accepting')],
      [{ role: 'worker', visibility: ['nobody'] }, isRejected('dangling_reference')],
      [{ role: 'worker', id: 'mine' }, isRejected('invalid_parameters')],
      [{ role: 'worker', timeout: -1 }, isRejected('invalid_parameters')],
      [{ role: 'worker', originator: 'ux' }, isDenied('set:originator')],
    ]
    const before = await kit.picture()
    for (const [draft, [code, row, reason]] of faults) {
      await kit.refuses(code, 'R', 'create_workspace', draft, reason).catch(cause => {
        throw new Error(`${JSON.stringify(draft)}: ${cause.message}`)
      })
      await kit.expectAdded([row])
    }
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WP-005 a delegate hands out no sight, no budget and no authority that it does not have itself',
  { level: 2, rules: ['W-WS-11', 'W-ROLE-12'] },
  async kit => {
    const tokens = (token_limit: number) => ({ compute_budget: { token_limit } })
    await kit.worker('W')
    await kit.delegate('D', { budget: tokens(1000), resources: ['src'] })
    await kit.mark()
    const before = await kit.picture()
    for (const beyond of [{ visibility: ['W'] }, { budget: tokens(1001) }, { resources: ['src', 'elsewhere'] }]) {
      await kit.refuses('CONTAINMENT', 'D', 'create_workspace', { role: 'worker', ...beyond }).catch(cause => {
        throw new Error(`${JSON.stringify(beyond)}: ${cause.message}`)
      })
      await kit.expectAdded([denied('D', 'worker', 'operation:create_workspace', 'containment_violation')])
    }
    deepStrictEqual(await kit.picture(), before)
    const inside = { visibility: [kit.id('D')], budget: tokens(500), resources: ['src'] }
    await kit.workspace('C', inside, 'D')
    await kit.expectAmong([['workspace_created', 'C', 'worker', { workspace_id: 'C', parent: 'D' }]])
  },
)
