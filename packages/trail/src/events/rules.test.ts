// The rules of the registry that tie one field of a body to another.
import { describe, expect, it } from 'vitest'
import { exampleBody, exampleGenesis } from '../testing/examples.ts'
import { WORKSPACE_REJECTION_REASONS, WORKSPACE_STATES } from './names.ts'
import { checkBody } from './registry.ts'
import { GENESIS_FIELDS } from './rules.ts'

describe('genesis', () => {
  it('W-TRAIL-13 is accepted with all five fields, and without a taxonomy', () => {
    expect(checkBody('workspace_created', exampleGenesis())).toBeUndefined()
    const bare = exampleGenesis({ taxonomy_id: null, taxonomy_version: null })
    expect(checkBody('workspace_created', bare)).toBeUndefined()
  })

  it.each(GENESIS_FIELDS)('W-TRAIL-13 needs %s', field => {
    const { [field]: _, ...rest } = exampleGenesis()
    const error = checkBody('workspace_created', rest)
    expect(error?.code).toBe('invalid_body')
    expect(error?.message).toContain(`workspace_created.${field}`)
  })

  it.each(GENESIS_FIELDS)('W-TRAIL-13 alone has %s', field => {
    const body = { ...exampleBody('workspace_created'), [field]: exampleGenesis()[field] }
    const error = checkBody('workspace_created', body)
    expect(error?.code).toBe('invalid_body')
    expect(error?.message).toContain(`workspace_created.${field}`)
  })

  it.each(['single_runtime', 'cloud', ''])('W-SEC-13 refuses the deployment model %j', deployment_model => {
    expect(checkBody('workspace_created', { ...exampleGenesis(), deployment_model })?.code).toBe('invalid_body')
  })
})

describe('workspace_state_changed', () => {
  it.each(WORKSPACE_STATES)('W-LIFE-05 needs a reason only on the way to failed: %s', to_state => {
    const { reason: _, ...body } = exampleBody('workspace_state_changed', { to_state })
    const error = checkBody('workspace_state_changed', body)
    if (to_state !== 'failed') return expect(error).toBeUndefined()
    expect(error?.code).toBe('invalid_body')
    expect(error?.message).toContain('workspace_state_changed.reason')
  })

  it('W-LIFE-05 refuses an empty reason', () => {
    expect(checkBody('workspace_state_changed', exampleBody('workspace_state_changed', { reason: '' }))?.code).toBe(
      'invalid_body',
    )
  })
})

describe('workspace_rejected', () => {
  it.each(WORKSPACE_REJECTION_REASONS)('W-WS-05 has capacity details only for lack of capacity: %s', reason => {
    const empty = exampleBody('workspace_rejected', { reason, capacity_details: {} })
    expect(checkBody('workspace_rejected', empty)).toBeUndefined()
    const detailed = exampleBody('workspace_rejected', { reason })
    const code = reason === 'capacity_exhausted' ? undefined : 'invalid_body'
    expect(checkBody('workspace_rejected', detailed)?.code).toBe(code)
  })
})
