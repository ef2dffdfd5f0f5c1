import { Type } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import { type InputOf, type OpOf, type OutputOf, operation, type ServiceOf, streaming } from './operation.ts'
import { OperationRegistry } from './registry.ts'

const Path = Type.Object({ path: Type.String() })
const open = { accessControl: {} } as const

const operations = {
  '/fs/readFile': operation(
    { ...open, name: '/fs/readFile', opType: 'query', inputSchema: Path, outputSchema: Type.String() },
    ({ path }) => path.toUpperCase(),
  ),
  '/fs/watch': operation(
    {
      ...open,
      name: '/fs/watch',
      opType: 'subscription',
      inputSchema: Path,
      outputSchema: Type.Union([Type.Literal('changed'), Type.Literal('gone')]),
    },
    async function* ({ path }) {
      if (path !== '') yield 'changed'
      yield 'gone'
    },
  ),
  '/calc/add': operation(
    {
      ...open,
      name: '/calc/add',
      opType: 'mutation',
      inputSchema: Type.Object({ a: Type.Number(), b: Type.Optional(Type.Number()) }),
      outputSchema: Type.Object({ sum: Type.Number() }),
    },
    async ({ a, b = 0 }) => ({ sum: a + b }),
  ),
}
type Operations = typeof operations

test('a map of operations is a type: paths, services, inputs and outputs are known to callers', () => {
  expectTypeOf<ServiceOf<Operations>>().toEqualTypeOf<'fs' | 'calc'>()
  expectTypeOf<OpOf<Operations, 'fs'>>().toEqualTypeOf<'readFile' | 'watch'>()
  expectTypeOf<OpOf<Operations, 'calc'>>().toEqualTypeOf<'add'>()
  expectTypeOf<InputOf<Operations, '/fs/readFile'>>().toEqualTypeOf<{ path: string }>()
  expectTypeOf<OutputOf<Operations, '/fs/readFile'>>().toEqualTypeOf<string>()
  expectTypeOf<OutputOf<Operations, '/fs/watch'>>().toEqualTypeOf<'changed' | 'gone'>()
  expectTypeOf<InputOf<Operations, '/calc/add'>>().toEqualTypeOf<{ a: number; b?: number }>()
  expectTypeOf<OutputOf<Operations, '/calc/add'>>().toEqualTypeOf<{ sum: number }>()
  expectTypeOf<InputOf<Operations, '/no/such'>>().toEqualTypeOf<unknown>()
  expect(new OperationRegistry(operations).list().map(({ path }) => path)).toEqual([
    '/calc/add',
    '/fs/readFile',
    '/fs/watch',
  ])
})

test('a handler that does not fit its spec does not compile', () => {
  const query = {
    ...open,
    name: '/fs/readFile',
    opType: 'query',
    inputSchema: Path,
    outputSchema: Type.String(),
  } as const
  const stream = { ...query, opType: 'subscription' } as const
  // @ts-expect-error the output is a string
  operation(query, () => 5)
  // @ts-expect-error the output is a string, later too
  operation(query, async () => 5)
  // @ts-expect-error the input has no such member
  operation(query, ({ file }) => file)
  // @ts-expect-error a query does not stream
  operation(query, async function* () {
    yield 'a'
  })
  // @ts-expect-error a subscription streams
  operation(stream, async () => 'a')
  // @ts-expect-error each value is a string
  operation(stream, async function* () {
    yield 5
  })
  // @ts-expect-error there is no such type of operation
  operation({ ...query, opType: 'command' }, () => 'a')
  operation(query, (_input, context) => {
    // @ts-expect-error the context cannot be changed
    context.trusted = true
    return ''
  })
  operation(
    stream,
    streaming(({ path }: { path: string }) => ReadableStream.from([path])),
  )
  expect.assertions(0)
})

test('an operation that is filed under another path than its own is refused', () => {
  expect(() => new OperationRegistry({ '/fs/other': operations['/fs/readFile'] })).toThrow(TypeError)
})
