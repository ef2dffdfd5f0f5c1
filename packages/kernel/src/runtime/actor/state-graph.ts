// A state as bytes and back: plain objects, arrays, maps, sets and primitives. An object may be reached in many ways,
// cycles included; an array, map or set has one owner. Unlike `v8.serialize` it works in small pieces, so that a large
// state holds nobody up, and without recursion, so that a deep tree does not exhaust the stack. Texts and large numbers
// are left to `node:v8`. No I/O.
//
//   u32 length of the head · head · cells · atoms
//   cells: one node after the other, its kind and then its values; a value is a number, or points to an atom or a node
import { deserialize, serialize } from 'node:v8'
import { trailLimits } from '@parley/trail'
import { kernelLimits } from '../../limits.ts'

export type Pieces<Result> = Generator<undefined, Result>

type Atom = string | number | bigint
type Plain = Record<string, unknown>
type Collection = readonly unknown[] | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>

interface Head {
  readonly shapes: readonly (readonly string[])[]
  readonly cells: number
  readonly atoms: readonly number[]
}

// The two lowest bits of a value say what the others are.
const INTEGER = 0
const ATOM = 1
const NODE = 2
const CONSTANT = 3
const CONSTANTS = [undefined, null, true, false] as const
const INTEGER_LIMIT = 2 ** 29

// What a node is: the number of its shape, or one of these and its size.
const ARRAY = -1
const MAP = -2
const SET = -3

const PIECE = kernelLimits.stateCachePiece
const ATOMS_AT_ONCE = 8192
/** Texts that are recognised when they repeat soon; knowing all of them would cost more than writing them twice. */
const KNOWN_TEXTS = 8192

/** Undefined where the bytes exceed the limit. Throws on what is not plain data. */
export function* encodeGraph(root: object): Pieces<Uint8Array | undefined> {
  const writer = new GraphWriter()
  writer.meet(root)
  let paused = 0
  // A node is met before it is written, so the list grows while it is gone through.
  for (let next = 0; next < writer.nodes.length; next++) {
    const node = writer.nodes[next]!
    if (isCollection(node)) yield* writer.collection(node)
    else writer.object(node as Plain)
    if (writer.bytes > trailLimits.stateBytes) return undefined
    if (writer.length - paused < PIECE) continue
    paused = writer.length
    yield
  }
  return yield* writer.finish()
}

/** The newest text at one place of a shape: neighbours often say the same. */
interface Column {
  text: string
  cell: number
}

interface Shape {
  readonly id: number
  readonly keys: readonly string[]
  readonly columns: readonly Column[]
}

class GraphWriter {
  readonly nodes: object[] = []
  readonly #ids = new Map<object, number>()
  readonly #atoms: Atom[] = []
  readonly #texts = new Map<string, number>()
  readonly #shapes: Shape[] = []
  readonly #sized = new Map<number, Shape[]>()
  #cells = new Int32Array(1 << 16)
  #length = 0
  #textLength = 0

  get length(): number {
    return this.#length
  }

  get bytes(): number {
    return this.#length * this.#cells.BYTES_PER_ELEMENT + this.#textLength
  }

  meet(node: object): number {
    if (isCollection(node)) return this.nodes.push(node) - 1
    const known = this.#ids.get(node)
    if (known !== undefined) return known
    const id = this.nodes.push(node) - 1
    this.#ids.set(node, id)
    return id
  }

  object(node: Plain): void {
    if (Object.getPrototypeOf(node) !== Object.prototype) throw notPlain(node)
    const { id, keys, columns } = this.#shapeOf(Object.keys(node))
    this.#push(id)
    for (let index = 0; index < keys.length; index++) this.#push(this.#code(node[keys[index]!], columns[index]!))
  }

  *collection(node: Collection): Pieces<void> {
    const map = node instanceof Map
    this.#push(map ? MAP : node instanceof Set ? SET : ARRAY)
    this.#push(map || node instanceof Set ? node.size : (node as readonly unknown[]).length)
    const keys: Column = { text: '', cell: -1 }
    const column: Column = { text: '', cell: -1 }
    let pause = PIECE
    for (const item of node) {
      if (map) this.#push(this.#code((item as [unknown, unknown])[0], keys))
      this.#push(this.#code(map ? (item as [unknown, unknown])[1] : item, column))
      if (--pause > 0) continue
      pause = PIECE
      yield
    }
  }

  *finish(): Pieces<Uint8Array> {
    const atoms: Buffer[] = []
    for (let at = 0; at < this.#atoms.length; at += ATOMS_AT_ONCE) {
      atoms.push(serialize(this.#atoms.slice(at, at + ATOMS_AT_ONCE)))
      yield
    }
    const head: Head = {
      shapes: this.#shapes.map(({ keys }) => keys),
      cells: this.#length,
      atoms: atoms.map(({ length }) => length),
    }
    const written = serialize(head)
    const size = Buffer.alloc(4)
    size.writeUInt32LE(written.length)
    const cells = new Uint8Array(this.#cells.buffer, 0, this.#length * this.#cells.BYTES_PER_ELEMENT)
    return Buffer.concat([size, written, cells, ...atoms])
  }

  #code(value: unknown, column: Column): number {
    switch (typeof value) {
      case 'string':
        return this.#text(value, column)
      case 'number':
        if (Number.isInteger(value) && Math.abs(value) < INTEGER_LIMIT && !Object.is(value, -0))
          return (value << 2) | INTEGER
        return this.#atom(value)
      case 'bigint':
        return this.#atom(value)
      case 'boolean':
        return ((value ? 2 : 3) << 2) | CONSTANT
      case 'undefined':
        return CONSTANT
      case 'object':
        return value === null ? (1 << 2) | CONSTANT : (this.meet(value) << 2) | NODE
      default:
        throw notPlain(value)
    }
  }

  #text(text: string, column: Column): number {
    if (text === column.text && column.cell >= 0) return column.cell
    let cell = this.#texts.get(text)
    if (cell === undefined) {
      cell = this.#atom(text)
      this.#textLength += text.length
      if (this.#texts.size >= KNOWN_TEXTS) this.#texts.clear()
      this.#texts.set(text, cell)
    }
    column.text = text
    column.cell = cell
    return cell
  }

  #atom(atom: Atom): number {
    return ((this.#atoms.push(atom) - 1) << 2) | ATOM
  }

  #shapeOf(keys: readonly string[]): Shape {
    const sized = this.#sized.get(keys.length) ?? []
    for (const shape of sized) if (hasKeys(shape, keys)) return shape
    const shape = { id: this.#shapes.length, keys, columns: keys.map(() => ({ text: '', cell: -1 })) }
    this.#shapes.push(shape)
    this.#sized.set(keys.length, [...sized, shape])
    return shape
  }

  #push(cell: number): void {
    if (this.#length === this.#cells.length) {
      const larger = new Int32Array(this.#length * 2)
      larger.set(this.#cells)
      this.#cells = larger
    }
    this.#cells[this.#length++] = cell
  }
}

export function* decodeGraph(bytes: Uint8Array): Pieces<unknown> {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headEnd = 4 + source.readUInt32LE(0)
  const head = deserialize(source.subarray(4, headEnd)) as Head
  const cellsEnd = headEnd + head.cells * Int32Array.BYTES_PER_ELEMENT
  // A copy: they need not lie where an array of numbers may begin.
  const cells = new Int32Array(new Uint8Array(source.subarray(headEnd, cellsEnd)).buffer)
  const atoms: Atom[] = []
  let at = cellsEnd
  for (const length of head.atoms) {
    for (const atom of deserialize(source.subarray(at, at + length)) as Atom[]) atoms.push(atom)
    at += length
    yield
  }
  const nodes = yield* emptyNodes(head, cells)
  yield* fill(head, cells, nodes, atoms)
  return nodes[0]
}

function* emptyNodes({ shapes }: Head, cells: Int32Array): Pieces<object[]> {
  const templates = shapes.map(templateOf)
  const nodes: object[] = []
  let paused = 0
  for (let at = 0; at < cells.length; ) {
    const kind = cells[at]!
    if (kind >= 0) {
      nodes.push({ ...templates[kind]! })
      at += 1 + shapes[kind]!.length
    } else {
      nodes.push(kind === ARRAY ? [] : kind === MAP ? new Map() : new Set())
      at += 2 + cells[at + 1]! * (kind === MAP ? 2 : 1)
    }
    if (at - paused < PIECE) continue
    paused = at
    yield
  }
  return nodes
}

/** An object that has its keys from the start is as quick to use as one that was written out as a literal. */
function templateOf(keys: readonly string[]): Plain {
  return JSON.parse(`{${keys.map(key => `${JSON.stringify(key)}:null`).join()}}`) as Plain
}

function* fill({ shapes }: Head, cells: Int32Array, nodes: readonly object[], atoms: readonly Atom[]): Pieces<void> {
  const value = (cell: number): unknown => {
    const number = cell >> 2
    switch (cell & 3) {
      case INTEGER:
        return number
      case ATOM:
        return atoms[number]
      case NODE:
        return nodes[number]
      default:
        return CONSTANTS[number]
    }
  }
  let at = 0
  let pause = PIECE
  for (const node of nodes) {
    const kind = cells[at++]!
    if (kind >= 0) {
      const keys = shapes[kind]!
      for (const key of keys) (node as Plain)[key] = value(cells[at++]!)
      pause -= keys.length
    } else {
      for (let left = cells[at++]!; left > 0; left--) {
        const item = value(cells[at++]!)
        if (kind === ARRAY) (node as unknown[]).push(item)
        else if (kind === SET) (node as Set<unknown>).add(item)
        else (node as Map<unknown, unknown>).set(item, value(cells[at++]!))
        if (--pause > 0) continue
        pause = PIECE
        yield
      }
    }
    if (pause > 0) continue
    pause = PIECE
    yield
  }
}

function isCollection(node: object): node is Collection {
  return Array.isArray(node) || node instanceof Map || node instanceof Set
}

function hasKeys({ keys }: Shape, wanted: readonly string[]): boolean {
  for (let index = 0; index < wanted.length; index++) if (keys[index] !== wanted[index]) return false
  return true
}

function notPlain(value: unknown): TypeError {
  const what = typeof value === 'object' ? (value?.constructor?.name ?? 'object') : typeof value
  return new TypeError(`A state is plain data; this one holds a ${what}.`)
}
