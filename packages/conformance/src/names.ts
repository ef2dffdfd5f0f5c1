// Names for ids: scenarios say R, W and E1, and an implementation's ids are whatever they are.

/** Parameters whose values are ids: they take names. */
const ID_FIELDS: ReadonlySet<string> = new Set([
  'workspace',
  'workspaces',
  'parent',
  'to',
  'from',
  'holder',
  'target',
  'source',
  'envelope',
  'in_reply_to',
  'checkpoint',
  'artifact',
  'signal',
  'right',
  'task',
  'graph',
  'gate',
  'conflict',
  'entry',
  'first',
  'second',
  'caused_by',
  'depends_on',
  'parent_task',
  'visibility',
  'ref',
  'about',
])

/** What is content and never holds ids of the kit's. */
const CONTENT: ReadonlySet<string> = new Set(['payload', 'context', 'memory', 'value', 'result', 'taxonomy'])

export class Names {
  readonly #names = new Map<string, string>()
  readonly #ids = new Map<string, string>()

  /** An id has one name; a name may move on to another id, as after a second attempt. */
  set(id: string, name: string): void {
    this.#names.set(id, name)
    this.#ids.set(name, id)
  }

  has(name: string): boolean {
    return this.#ids.has(name)
  }

  id(name: string): string {
    const id = this.#ids.get(name)
    if (id === undefined) throw new Error(`Nothing in this scenario is named ${name}.`)
    return id
  }

  /** The id that a name stands for, or the text itself. */
  resolve(text: string): string {
    return this.#ids.get(text) ?? text
  }

  of(id: string): string {
    return this.#names.get(id) ?? id
  }

  /** A copy with names for ids everywhere. */
  named(value: unknown): unknown {
    if (typeof value === 'string') return this.of(value)
    return mapped(value, item => this.named(item))
  }

  /** Parameters with ids for names in the fields that hold ids. */
  resolved(value: unknown, field = ''): unknown {
    if (typeof value === 'string') return isIdField(field) ? this.resolve(value) : value
    if (Array.isArray(value)) return value.map(item => this.resolved(item, field))
    return mapped(value, (item, key) => (CONTENT.has(key) ? item : this.resolved(item, key)))
  }
}

function mapped(value: unknown, change: (item: unknown, key: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map(item => change(item, ''))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, change(item, key)]))
}

function isIdField(field: string): boolean {
  return ID_FIELDS.has(field) || field.endsWith('_id')
}
