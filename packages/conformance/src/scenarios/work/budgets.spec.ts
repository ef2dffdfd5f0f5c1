// Limits: warnings and failures in every dimension, what counts when, raises, and what delegates hand on
// (wacp-primitives 12).
import { deepStrictEqual } from 'node:assert'
import type { BudgetDraft } from '../../drafts.ts'
import { denied, failure, SC } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const S = 1000
const tokens = (token_limit: number): BudgetDraft => ({ compute_budget: { token_limit } })
const use = (kit: Kit, name: string, used: { tokens?: number; cost?: number; context?: number }) =>
  kit.faults.meter(kit.run, kit.id(name), used)

const warned = (workspace: string, dimension: string, consumed: unknown, limit: number): Row => [
  'budget_warning',
  workspace,
  'protocol',
  { workspace_id: workspace, budget_dimension: dimension, consumed, limit, threshold_percent: 80 },
]

/** The end of a workspace at its limit. */
function exceeded(workspace: string, dimension: string, consumed: unknown, limit: number): readonly Row[] {
  const reason = (text: unknown) => String(text).startsWith('budget_exceeded')
  return [
    [
      'budget_exceeded',
      workspace,
      'protocol',
      { workspace_id: workspace, budget_dimension: dimension, consumed, limit },
    ],
    ...failure(workspace, 'active', 'budget_exceeded', { reason }),
  ]
}

const marks = (entries: readonly Entry[]) =>
  entries.filter(({ event_type }) => event_type === 'budget_warning' || event_type === 'budget_exceeded')

/** Dimensions that the runtime measures from without: what is used in all once so much was used before. */
const METERED = {
  token_limit: [tokens(100), (to: number, from: number) => ({ tokens: to - from })],
  context_limit: [{ memory_budget: { context_limit: 100 } }, (to: number) => ({ context: to })],
  cost_limit: [{ cost_limit: 100 }, (to: number, from: number) => ({ cost: to - from })],
} as const

const BYTES = 20_000

/** Dimensions in bytes: how much something takes is the implementation's affair, so it is used up in small parts. */
const BYTE_LIMITS: Readonly<
  Record<string, readonly [BudgetDraft, (kit: Kit, name: string, text: string) => Promise<unknown>]>
> = {
  checkpoint_limit: [
    { storage_budget: { checkpoint_limit: BYTES } },
    (kit, name, content) => kit.checkpoint('K', name, { payload: { content } }),
  ],
  trail_limit: [
    { storage_budget: { trail_limit: BYTES } },
    (kit, name, reason) => kit.emit(name, 'checkpoint', { reason }),
  ],
  bandwidth_limit: [
    { network_budget: { bandwidth_limit: BYTES } },
    (kit, name, content) => kit.send('E', name, 'R', 'query', { payload: { format: 'markdown', content } }),
  ],
}

scenario(
  'WP-089 in every dimension there is one warning at 80 percent, and failure at the limit',
  {
    level: 2,
    rules: ['W-BUDGET-02', 'W-BUDGET-04', 'W-BUDGET-05', 'W-BUDGET-03', 'W-SIG-13', 'W-CP-05'],
  },
  async kit => {
    for (const [dimension, [budget, used]] of Object.entries(METERED)) {
      await kit.worker('W', { budget })
      await kit.mark()
      await use(kit, 'W', used(79, 0))
      await kit.expectAdded([])
      await use(kit, 'W', used(80, 79))
      await kit.expectAdded([warned('W', dimension, 80, 100)])
      await use(kit, 'W', used(99, 80))
      await kit.expectAdded([])
      await use(kit, 'W', used(100, 99))
      await kit.expectAdded(exceeded('W', dimension, 100, 100))

      await kit.worker('J', { budget })
      await kit.mark()
      await use(kit, 'J', used(150, 0))
      await kit.expectAdded([warned('J', dimension, 150, 100), ...exceeded('J', dimension, 150, 100)])
    }

    await kit.worker('T', { budget: { compute_budget: { compute_timeout: 100 * S } } })
    await kit.mark()
    const reached = (mark: number) => (consumed: unknown) => Number(consumed) >= mark
    await kit.advance(80 * S - 1)
    await kit.expectAdded([])
    await kit.advance(2)
    await kit.expectAdded([warned('T', 'compute_timeout', reached(80 * S), 100 * S)])
    await kit.advance(20 * S - 2)
    await kit.expectAdded([])
    await kit.advance(2)
    await kit.expectAdded(exceeded('T', 'compute_timeout', reached(100 * S), 100 * S))

    for (const [dimension, [budget, spend]] of Object.entries(BYTE_LIMITS)) {
      await kit.worker('B', { budget })
      await kit.mark()
      const consumed = async () => (await kit.look('B')).limits[dimension]!.consumed
      let warnings = 0
      for (let part = 0; ; part++) {
        const before = await consumed()
        deepStrictEqual(before < BYTES && part < 200, true, `${dimension}: ${before} after ${part} parts`)
        await spend(kit, 'B', 'x'.repeat(500))
        const added = await kit.added()
        const found = marks(added).map(({ event_type, body }) => {
          const { budget_dimension, limit } = body
          return { event_type, budget_dimension, limit, reached: Number(body.consumed) }
        })
        const after = found.at(-1)?.reached ?? (await consumed())
        const expected = [
          ...(before < 0.8 * BYTES && after >= 0.8 * BYTES ? ['budget_warning'] : []),
          ...(after >= BYTES ? ['budget_exceeded'] : []),
        ]
        warnings += expected.includes('budget_warning') ? 1 : 0
        deepStrictEqual(
          found,
          expected.map(event_type => {
            return { event_type, budget_dimension: dimension, limit: BYTES, reached: after }
          }),
          `${dimension} from ${before} to ${after}`,
        )
        if (after < BYTES) continue
        const types = added.map(({ event_type }) => event_type)
        deepStrictEqual(types.slice(types.indexOf('budget_exceeded')), [
          'budget_exceeded',
          'signal_emitted',
          'workspace_state_changed',
          'signal_delivered',
        ])
        break
      }
      deepStrictEqual([warnings, await kit.state('B')], [1, 'failed'], dimension)
      // The checkpoint that reached the limit is kept.
      if (dimension === 'checkpoint_limit') deepStrictEqual((await kit.look('B')).register.at(-1)?.id, kit.id('K'))
    }

    await kit.worker('A', { budget: { ...tokens(100), cost_limit: 100 } })
    await kit.mark()
    await kit.checkpoint('KA', 'A', { resource_usage: { tokens_consumed: 5000, wall_time: 1, cost: 5000 } })
    deepStrictEqual(marks(await kit.added()), [])
    const { meter, status } = await kit.look('A')
    deepStrictEqual([meter.tokens, meter.cost, status], [0, 0, 'active'])
  },
)

scenario(
  'WP-090 compute time runs at work only, wall time up to its limit also while blocked, and neither while suspended',
  { level: 2, rules: ['W-BUDGET-02', 'W-BUDGET-03', 'W-MIG-02'] },
  async kit => {
    const limits = { compute_timeout: 100 * S, wall_time_limit: 320 * S }
    await kit.worker('W', { budget: { compute_budget: limits } })
    await kit.mark()
    await kit.advance(50 * S)
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.advance(200 * S)
    await kit.do('R', 'suspend', { workspace: 'W', reason: 'pause' })
    await kit.advance(200 * S)
    await kit.do('R', 'resume', { workspace: 'W' })
    await kit.emit('W', 'started')
    await kit.advance(49 * S)
    await kit.expectNone('budget_exceeded')
    const { meter, status } = await kit.look('W')
    deepStrictEqual([status, Math.round(meter.compute_time / S), Math.round(meter.wall_time / S)], ['active', 99, 299])
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.advance(20 * S)
    await kit.expectNone('budget_exceeded')
    await kit.advance(S + 1)
    await kit.expectAmong([
      ['budget_exceeded', 'W', 'protocol', { budget_dimension: 'wall_time_limit', limit: 320 * S }],
      ['workspace_state_changed', 'W', 'protocol', { from_state: 'blocked', to_state: 'failed' }],
    ])
  },
)

scenario(
  'WP-091 a limit is raised, never lowered or added, and its warning is armed again',
  { level: 2, rules: ['W-BUDGET-06'] },
  async kit => {
    await kit.worker('W', { budget: tokens(100) })
    await kit.inState('P', 'suspended', { budget: tokens(100) })
    await use(kit, 'W', { tokens: 85 })
    await kit.mark()
    const raise = (workspace: string, limits: BudgetDraft) => ({ workspace, limits })
    await kit.do('R', 'raise_budget', raise('W', tokens(200)))
    await kit.expectAdded([
      [
        'budget_modified',
        'W',
        'system',
        { workspace_id: 'W', budget_dimension: 'token_limit', old_limit: 100, new_limit: 200 },
      ],
    ])
    for (const limits of [tokens(150), tokens(200), { cost_limit: 10 }])
      await kit.refuses('INVALID_ARGUMENT', 'R', 'raise_budget', raise('W', limits))
    await kit.refuses('INVALID_STATE', 'R', 'raise_budget', raise('P', tokens(200)))
    await kit.expectAdded([])
    await kit.refuses('PERMISSION_DENIED', 'W', 'raise_budget', raise('W', tokens(1000)))
    const operation = (capability: unknown) => String(capability).startsWith('operation:')
    await kit.expectAdded([
      ['capability_denied', 'W', 'worker', { capability: operation, reason: 'permission_denied' }],
    ])
    deepStrictEqual((await kit.look('W')).limits, { token_limit: { limit: 200, consumed: 85 } })
    await use(kit, 'W', { tokens: 74 })
    await kit.expectAdded([])
    await use(kit, 'W', { tokens: 1 })
    await kit.expectAdded([warned('W', 'token_limit', 160, 200)])
  },
)

scenario(
  'WP-092 children fit into what remains of their delegate, and what they use counts there too',
  { level: 2, rules: ['W-BUDGET-07', 'W-WS-11'] },
  async kit => {
    await kit.delegate('D', { budget: tokens(1000) })
    await use(kit, 'D', { tokens: 100 })
    await kit.worker('C1', { budget: tokens(600) }, 'D')
    await kit.mark()
    const refusedTo = async (budget?: BudgetDraft) => {
      await kit.refuses('CONTAINMENT', 'D', 'create_workspace', { role: 'worker', ...(budget && { budget }) })
      await kit.expectAdded([denied('D', 'worker', 'operation:create_workspace', 'containment_violation')])
    }
    await refusedTo(tokens(400))
    await use(kit, 'C1', { tokens: 200 })
    await kit.do('D', 'abort', { workspace: 'C1' })
    await kit.mark()
    // 700 remain: 100 of its own and 200 of the child that has ended are gone.
    await refusedTo(tokens(701))
    await kit.worker('C2', { budget: tokens(600) }, 'D')
    await kit.worker('C3', {}, 'D')
    deepStrictEqual((await kit.look('C3')).limits.token_limit?.limit, 100)
    await use(kit, 'C2', { tokens: 500 })
    deepStrictEqual((await kit.look('D')).limits.token_limit?.consumed, 800)
    await use(kit, 'D', { tokens: 150 })
    await kit.mark()
    await use(kit, 'C3', { tokens: 50 })
    const [mark, signal, change, delivery] = exceeded('D', 'token_limit', 1000, 1000)
    await kit.expectAdded([
      mark!,
      signal!,
      change!,
      SC('C2', 'active', 'failed', 'parent_failed'),
      SC('C3', 'active', 'failed', 'parent_failed'),
      delivery!,
    ])
  },
)
