// The text of `peers.yaml` (ALP-PEER-01, -06). It is read as YAML 1.1, as in the reference. A change keeps a person's
// comments, fields and order of entries, puts the fields of each entry into their order, and quotes every text.
import { isUtf8 } from 'node:buffer'
import { composeYaml } from '@parley/core/yaml'
import { Document, isAlias, isMap, isScalar, isSeq, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { linkLimits } from '../limits.ts'
import type { NewPeer } from './peer.ts'

/** The order of fields in an entry. */
const ORDER = ['id', 'pubkey', 'alias', 'address', 'allow', 'budget', 'rate_limit']
/** Fields that are left out when they say nothing. */
const OPTIONAL = new Set(['alias', 'address', 'budget', 'rate_limit'])
const STYLE = {
  lineWidth: 0,
  indentSeq: false,
  defaultStringType: 'QUOTE_DOUBLE',
  defaultKeyType: 'PLAIN',
} as const

/** The entries as plain values, integers as bigints; undefined if the file is not a YAML list. It may be empty. */
export function readEntries(bytes: Buffer): readonly unknown[] | undefined {
  try {
    const value: unknown = parsed(bytes)?.toJS({ maxAliasCount: linkLimits.yamlAliases })
    if (value === null) return []
    return Array.isArray(value) ? value : undefined
  } catch {
    // More aliases than a person writes.
    return undefined
  }
}

function parsed(bytes: Buffer): Document.Parsed | undefined {
  if (!isUtf8(bytes)) return undefined
  const { peersFileBytes, yamlTokens: tokens, yamlDepth: depth } = linkLimits
  const composed = composeYaml(
    bytes.toString('utf8'),
    { bytes: peersFileBytes, tokens, depth },
    // Of equal keys the last one counts, as in Python.
    { version: '1.1', uniqueKeys: false, intAsBigInt: true },
  )
  return 'document' in composed && composed.document.errors.length === 0 ? composed.document : undefined
}

/** A list that is being changed. Entries are named by their place. */
export class PeersText {
  readonly #document: Document.Parsed | Document
  readonly #list: YAMLSeq

  /** Undefined if the bytes are not a YAML list, which is not ours to overwrite. */
  static of(bytes: Buffer | undefined): PeersText | undefined {
    const document = bytes === undefined ? new Document(null, { version: '1.1' }) : parsed(bytes)
    if (!document) return undefined
    if (document.contents === null || isNull(document.contents)) document.contents = new YAMLSeq() as never
    return isSeq(document.contents) ? new PeersText(document, document.contents) : undefined
  }

  private constructor(document: Document.Parsed | Document, list: YAMLSeq) {
    this.#document = document
    this.#list = list
  }

  add(peer: NewPeer): void {
    const entry = new YAMLMap()
    const { id, pubkey, alias, address, allow, perMinute } = peer
    const rate_limit = perMinute === undefined ? undefined : { per_minute: perMinute }
    for (const [key, value] of Object.entries({ id, pubkey, alias, address, allow, rate_limit }))
      if (value !== undefined) entry.add(new Pair(key, this.#document.createNode(value)))
    this.#list.flow = false
    this.#list.add(entry)
  }

  remove(index: number): void {
    this.#list.items.splice(index, 1)
  }

  /** Methods that stay keep their comments. */
  setAllow(index: number, methods: readonly string[]): void {
    const entry = this.#list.items[index]
    if (!isMap(entry)) return
    const old = entry.get('allow', true)
    const list = new YAMLSeq()
    for (const method of methods) {
      const kept = isSeq(old) ? old.items.find(item => isScalar(item) && item.value === method) : undefined
      list.add(kept ?? this.#document.createNode(method))
    }
    entry.set('allow', list)
  }

  /** Throws if an alias stands for an entry that is gone. */
  toBytes(): Buffer {
    for (const entry of this.#list.items) if (isMap(entry)) arrange(entry)
    return Buffer.from(this.#document.toString(STYLE), 'utf8')
  }
}

/** ALP-PEER-06: fields in their order, those that say nothing left out, unknown ones behind. */
function arrange(entry: YAMLMap): void {
  const last = new Map(entry.items.map(pair => [keyOf(pair), pair]))
  const known = ORDER.flatMap(key => last.get(key) ?? []).filter(
    pair => !(OPTIONAL.has(keyOf(pair)) && saysNothing(pair.value)),
  )
  const others = [...last.values()].filter(pair => !ORDER.includes(keyOf(pair)))
  entry.items = [...known, ...others]
  for (const { value } of entry.items) {
    quote(value)
    if (isSeq(value)) for (const item of value.items) quote(item)
  }
}

function keyOf(pair: Pair): string {
  return isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
}

/** Another reader may take a plain text for something else; a value that is not text keeps its form. */
function quote(node: unknown): void {
  if (isScalar(node) && typeof node.value === 'string') node.type = Scalar.QUOTE_DOUBLE
}

function saysNothing(value: unknown): boolean {
  if (isAlias(value)) return false
  if (isMap(value) || isSeq(value)) return value.items.length === 0
  return value === null || isNull(value) || (isScalar(value) && value.value === '')
}

function isNull(node: unknown): boolean {
  return isScalar(node) && node.value === null
}
