import { Type } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationRegistry } from './registry.ts'
import { codeOf, listed, principal, registryWith, spec, TestHead, unspecifiedWorker } from './testing/head.ts'

function registryOfThree(): OperationRegistry {
  const registry = registryWith(
    {
      ...spec('/test/open'),
      inputSchema: Type.Object({ a: Type.String() }),
      outputSchema: Type.Number(),
      errorSchemas: [{ code: 'SOLD_OUT', description: 'none left', schema: {}, httpStatus: 409 }],
      version: '1.2.0',
      title: 'Open',
      description: 'For everybody',
      tags: ['x'],
      _meta: { icon: { name: 'door' } },
    },
    () => 1,
  )
  const access = { requiredScopes: ['admin'], resourceType: 'project', resourceAction: 'read' }
  registry.register(spec('/test/restricted', access, 'mutation'), () => 2)
  registry.register({ ...spec('/test/internal'), visibility: 'internal' }, () => 3)
  registry.registerSpec(spec('/test/later'))
  return registry
}

const OPEN = {
  namespace: 'test',
  op_type: 'query',
  visibility: 'external',
  input_schema: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
  output_schema: { type: 'number' },
  error_schemas: [{ code: 'SOLD_OUT', description: 'none left', schema: {}, http_status: 409 }],
  access_control: { required_scopes: [], required_scopes_any: null, resource_type: null, resource_action: null },
  version: '1.2.0',
  title: 'Open',
  description: 'For everybody',
  tags: ['x'],
  _meta: { icon: { name: 'door' } },
}

test('CALL-T50 discovery shows a caller what it may call, and nothing of the rest', async () => {
  const head = new TestHead({ registry: registryOfThree() })
  const link = await head.join({ as: principal('caller') })
  await expect(link.call('/services/list', {})).resolves.toEqual({
    operations: [
      { name: '/services/list', namespace: 'services', op_type: 'query' },
      { name: '/services/schema', namespace: 'services', op_type: 'query' },
      { name: '/test/open', namespace: 'test', op_type: 'query' },
    ],
  })
  const schema = (name: string) => link.call('/services/schema', { name })
  await expect(schema('/test/open')).resolves.toEqual({ name: '/test/open', ...OPEN })
  await expect(schema('test/open')).resolves.toEqual({ name: '/test/open', ...OPEN })
  await expect(schema('/test/restricted')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  for (const name of ['/test/internal', '/test/later', '/test/nothing'])
    await expect(schema(name)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  for (const input of [{}, null, { name: 5 }, 'x', []])
    await expect(link.call('/services/schema', input)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'missing required field: name',
    })
})

test('CALL-DISC-01 who may call more sees more, and so does everybody where all is to be listed', async () => {
  const registry = registryOfThree()
  const admin = principal('admin', ['admin'], { project: ['read'] })
  const known = await new TestHead({ registry }).join({ as: admin })
  expect(await listed(known)).toContain('/test/restricted')
  const needed = { required_scopes: ['admin'], resource_type: 'project', resource_action: 'read' }
  const told = await known.call('/services/schema', { name: '/test/restricted' })
  expect(told).toMatchObject({ op_type: 'mutation', access_control: { ...needed, required_scopes_any: null } })
  const stranger = await new TestHead({ registry, listAll: true }).join()
  const names = await listed(stranger)
  expect(names).toContain('/test/restricted')
  expect(names).not.toContain('/test/internal')
})

test.each([
  [{ any: 'object' }, undefined],
  [null, undefined],
  ['text', 'INVALID_INPUT'],
  [[], 'INVALID_INPUT'],
  [5, 'INVALID_INPUT'],
])('CALL-DISC-01 the list takes %j as its input, or not', async (input, code) => {
  const link = await new TestHead().join()
  expect(await codeOf(link, '/services/list', input)).toBe(code)
})

test('CALL-DISC-02 of a routed operation the head tells all that its worker told, under the full path', async () => {
  const head = new TestHead()
  await head.worker('dev1', { registry: registryOfThree() })
  const client = await head.join()
  expect(await listed(client)).toEqual(['/dev1/test/open', '/services/list', '/services/schema'])
  const told = await client.call('/services/schema', { name: 'dev1/test/open' })
  expect(told).toEqual({ name: '/dev1/test/open', ...OPEN })
  expect(await codeOf(client, '/services/schema', { name: '/dev1/test/other' })).toBe('NOT_FOUND')
})

test('CALL-ROUTE-03 a node answers under its own alias as without it, and says so when there is nothing', async () => {
  const registry = registryOfThree()
  const link = await new TestHead({ registry, alias: 'main' }).join()
  await expect(link.call('/main/test/open', { a: '' })).resolves.toBe(1)
  await expect(link.call('/test/open', { a: '' })).resolves.toBe(1)
  // CALL-T82: whatever else a head is called.
  await expect(link.call('/head/test/open', { a: '' })).resolves.toBe(1)
  await expect(link.call('/main/services/list', {})).resolves.toEqual(await link.call('/services/list', {}))
  for (const path of ['/dev1/test/open', '/test/nothing', '/main/test/nothing', '/head/test/nothing']) {
    const missing = { code: 'NOT_FOUND', message: `operation not found: ${path}` }
    await expect(link.call(path, { a: '' })).rejects.toMatchObject(missing)
  }
})

test('CALL-T82 a head with another alias answers to head too: to workers, callers, discovery, env and path rules', async () => {
  const pathRules = [{ pattern: '/head/test/restricted', access: { requiredScopes: ['rule'] } }]
  const head = new TestHead({ registry: registryOfThree(), alias: 'hub', pathRules })
  await head.worker('dev1', { registry: registryOfThree() })
  expect([head.node.alias, head.node.workers]).toEqual(['hub', ['dev1']])
  const admin = await head.join({ as: principal('admin', ['admin'], { project: ['read'] }) })
  for (const node of ['', '/hub', '/head']) {
    await expect(admin.call(`${node}/test/restricted`), node).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(admin.call('/services/schema', { name: `${node}/test/open` }), node).resolves.toMatchObject({
      name: `${node}/test/open`,
    })
  }
  for (const node of ['hub', 'head'])
    expect((await head.node.env.invoke(node, 'test/open', { a: '' })).unwrap()).toBe(1)
})

test('CALL-T83 an operation whose type nobody knows is listed as a mutation, which nobody repeats', async () => {
  const head = new TestHead({ allowUnspecified: true })
  await unspecifiedWorker(head, '/bank/pay')
  const { operations } = await (await head.join()).call<{ operations: unknown[] }>('/services/list', {})
  expect(operations).toContainEqual({ name: '/dev1/bank/pay', namespace: 'bank', op_type: 'mutation' })
})

test('a node that closes ends its links', async () => {
  const head = new TestHead()
  const link = await head.join()
  const closed = new Promise(resolve => link.onClose(resolve))
  head.node.close()
  await closed
  expect(head.node.links).toEqual([])
})
