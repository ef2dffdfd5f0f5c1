// Operation paths (CALL-ROUTE-01, -02) and patterns over them (CALL-ACL-08).
import { callLimits } from './limits.ts'

const SEGMENT = /^[A-Za-z0-9_.~-]{1,64}$/
const ALIAS = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export interface OperationPath {
  /** With its leading slash. */
  readonly path: string
  /** The first of three segments. */
  readonly node: string | undefined
  readonly service: string
  readonly op: string
  /** Without the node. */
  readonly local: string
}

/** Paths that were parsed lately: every request names one of few. */
const parsed = new Map<string, OperationPath>()
const REMEMBERED_PATHS = 1024

/** The parts of `/{node}/{service}/{op}` or `/{service}/{op}`, leading slash optional; undefined for anything else. */
export function parsePath(text: string): OperationPath | undefined {
  const known = parsed.get(text)
  if (known) return known
  const path = split(text)
  if (!path) return undefined
  if (parsed.size >= REMEMBERED_PATHS) parsed.clear()
  parsed.set(text, path)
  return path
}

function split(text: string): OperationPath | undefined {
  const path = text.startsWith('/') ? text : `/${text}`
  if (path.length > callLimits.pathLength) return undefined
  const [, first, second, third, ...more] = path.split('/')
  if (!first || second === undefined || more.length > 0) return undefined
  if (!SEGMENT.test(first) || !SEGMENT.test(second)) return undefined
  if (third === undefined) return { path, node: undefined, service: first, op: second, local: path }
  if (!SEGMENT.test(third) || !isAlias(first)) return undefined
  return { path, node: first, service: second, op: third, local: `/${second}/${third}` }
}

/** `a.b` is `/a/b`, split at the first dot; a name with a slash is a path already (CALL-EVT-03). */
export function normalName(name: string): string {
  if (name.includes('/')) return name.startsWith('/') ? name : `/${name}`
  const dot = name.indexOf('.')
  return dot < 0 ? `/${name}` : `/${name.slice(0, dot)}/${name.slice(dot + 1)}`
}

/** `/fs/readFile` in OPS spelling. A path that would be read back as another one keeps its slashes, which OPS reads. */
export function dottedName(path: string): string {
  const [, service = '', ...rest] = path.split('/')
  const name = `${service}.${rest.join('.')}`
  return normalName(name) === path ? name : path
}

export function isAlias(text: string): boolean {
  return ALIAS.test(text)
}

/** A pattern: literals and `*`; a `*` that is last stands for one or more segments, any other for exactly one. */
export class PathPattern {
  readonly text: string
  readonly #segments: readonly string[]

  constructor(text: string) {
    const [before, ...segments] = text.split('/')
    const sound = before === '' && segments.length > 0
    if (!sound || !segments.every(segment => segment === '*' || SEGMENT.test(segment)))
      throw new TypeError(`'${text}' is no path pattern: segments are literals or *, each behind a slash`)
    this.text = text
    this.#segments = segments
  }

  /** Matched against the whole routed path, exactly and case-sensitively. */
  matches(path: string): boolean {
    const given = path.split('/').slice(1)
    const wanted = this.#segments
    const open = wanted.at(-1) === '*'
    if (open ? given.length < wanted.length : given.length !== wanted.length) return false
    return wanted.every((segment, index) => segment === '*' || segment === given[index])
  }
}
