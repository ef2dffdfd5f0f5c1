// What others bring to the surface: a Fastify plugin below a prefix, how refusals look there, and its part of the
// description. The checks (Host, Origin, rates, tokens) have passed when a plugin's handler runs.
import type { Principal } from '@parley/core'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { HttpRefusal } from './refusals.ts'
import type { Streams } from './streams.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; undefined only on routes that are open. `request.id` is the correlation id. */
    principal: Principal | undefined
    /** Why there is none; of interest only to plugins that refuse by themselves. */
    unauthenticated: 'auth_required' | 'unauthorized' | undefined
  }
  interface FastifyContextConfig {
    /** Needs no token. */
    readonly open?: boolean
    /** The caller has at least one of these scopes, or is the owner. */
    readonly scopes?: readonly string[]
  }
}

/** What a plugin is given as its options. */
export interface MountOptions {
  readonly streams: Streams
}

export interface HttpMount {
  /** `/alx`. */
  readonly prefix: string
  readonly plugin: FastifyPluginAsync<MountOptions>
  /**
   * The plugin itself refuses who is not authenticated, for instance after checks of its own: `request.principal` is
   * there if somebody is, otherwise `request.unauthenticated`.
   */
  readonly authenticates?: true
  /** Further headers of refusals below the prefix. */
  readonly headers?: Readonly<Record<string, string>>
  /** The body of a refusal below the prefix; the usual one without it. Its status is that of the refusal. */
  readonly refuse?: (refusal: HttpRefusal, correlationId: string, url: string) => object
  /** Its part of the OpenAPI document, with whole paths. */
  readonly openapi?: () => OpenApiPart
}

export interface OpenApiPart {
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, object>>
  readonly schemas?: Readonly<Record<string, unknown>>
}

/**
 * One way to tell who calls: a token, later the console's cookie. Undefined: the request says nothing of the kind, and
 * the next one is asked. `refused`: it does, and is not believed; nobody else is asked.
 */
export type Resolver = (request: FastifyRequest) => Principal | undefined | 'refused'
