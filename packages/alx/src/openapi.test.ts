// ALX's part of an OpenAPI document.
import { ERRORS, ROUTES } from '@alx/protocol'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { alxOpenApi } from './openapi.ts'

const document = () => {
  const { tags, paths, schemas } = alxOpenApi('/alx')
  const securitySchemes = { bearer: { type: 'http', scheme: 'bearer' } }
  const info = { title: 'ALX', version: '1' }
  return JSON.parse(JSON.stringify({ openapi: '3.1.0', info, tags, paths, components: { schemas, securitySchemes } }))
}

test('ALX-HTTP-01 the description has every route of the protocol, below its prefix, and is valid OpenAPI 3.1', async () => {
  const made = document()
  const described = Object.entries(made.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  )
  expect(described.toSorted()).toEqual(
    Object.values(ROUTES)
      .map(({ method, path }) => `${method} /alx${path}`)
      .toSorted(),
  )
  const validator = new Validator()
  expect(await validator.validate(made)).toEqual({ valid: true })
  // Every reference leads somewhere.
  expect(() => validator.resolveRefs()).not.toThrow()
})

test('ALX-ERR-02 every route describes the error envelope for every status of the code table', () => {
  const statuses = [...new Set(Object.values(ERRORS).flatMap(({ http }) => [...http]))]
  for (const methods of Object.values(document().paths as Record<string, object>))
    for (const { responses } of Object.values(methods) as { responses: Record<string, { content: object }> }[])
      for (const status of statuses)
        expect(responses[status]!.content).toEqual({
          'application/json': { schema: { $ref: '#/components/schemas/ProtocolErrorEnvelope' } },
        })
})

test('ALX-RUN-07 ALX-SESS-09 ALX-KB-16 what a route reads of the query is described with its bounds', () => {
  type Described = Record<string, { parameters: { name: string; in: string; schema: object }[] }>
  const queries = Object.values(document().paths as Record<string, Described>)
    .flatMap(methods => Object.values(methods))
    .map(({ parameters }) => parameters.filter(each => each.in === 'query').map(({ name }) => name))
  expect(queries.filter(names => names.length > 0)).toEqual([
    ['afterSeq'],
    ['limit', 'cursor', 'status', 'userId'],
    ['limit', 'cursor', 'type'],
    ['direction'],
  ])
})
