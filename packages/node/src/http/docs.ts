// The description of the interface (/openapi.json) and the page to read and try it (/docs). All of the page comes from
// here, and its policy lets it load and reach nothing else (docs/decisions/0032-one-http-server.md).
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

export const DOCS = '/docs'

/** Styles: the page sets some on its elements. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type Document =
  Extract<NonNullable<Parameters<typeof swagger>[1]>, { mode: 'static' }> extends {
    specification: infer S
  }
    ? Extract<S, { document: unknown }>['document']
    : never

export async function docsPage(app: FastifyInstance, document: object): Promise<void> {
  app.get('/openapi.json', { config: { open: true } }, (_request, reply) => reply.send(document))
  await app.register(async page => {
    page.addHook('onRoute', route => {
      route.config = { ...route.config, open: true }
    })
    await page.register(swagger, { mode: 'static', specification: { document: document as Document } })
    await page.register(swaggerUi, {
      routePrefix: DOCS,
      staticCSP: POLICY,
      // No badge of a validator elsewhere, and no token that outlives the page.
      uiConfig: {
        validatorUrl: null,
        persistAuthorization: false,
        deepLinking: true,
        docExpansion: 'none',
        layout: 'BaseLayout',
      },
      theme: { title: 'Parley' },
    })
  })
}
