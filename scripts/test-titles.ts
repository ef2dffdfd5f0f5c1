// Reads test files without running them: their titles, which scenario ids these name, and whether the body looks at the
// trail. A title is the first argument of test, it, describe or scenario, in any form (.only, .each(…), .runIf(…)).
import { parseAst } from 'vitest/node'

/**
 * What names a scenario of a sheet: WACP with its audit, Call Protocol, Crosstalk and ALX scenarios, ALP requirements.
 */
const scenarioId = /\b(?:W[PMX]-\d{3}|CALL-T\d\d|CT-T\d\d|ALX-T\d\d|ALP-[A-Z]+-\d\d[a-z]?)\b/g

/**
 * What a test that asserts on the trail is expected to call or read, in its own body or in a function of the same file
 * that it uses. A rough net: it finds tests that cannot have looked at the trail, not tests that looked badly.
 */
export const trailPatterns: readonly RegExp[] = [
  /\bexpectTrail\w*/,
  /\.expect(?:Added|Among)\s*\(/,
  /\.added\s*\(/,
  /\b\w*trail\s*\./i,
  /\.query\s*\(/,
  /\.verify\w*\s*\(/,
  /\.append\w*\s*\(/,
  /\b(?:scan|replay|select|aggregate)\s*\(/,
  /(?<!Object\.)\bentries\b/,
]

export interface NamedScenario {
  readonly id: string
  readonly title: string
  readonly file: string
  readonly readsTrail: boolean
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

interface Call extends Node {
  readonly callee: Node
  readonly arguments: readonly Node[]
}

/**
 * Every scenario that a title of this file names. A test that is skipped, still to do or expected to fail does not
 * count, nor does anything below such a group.
 */
export function scenariosOf(source: string, file: string): NamedScenario[] {
  const program = parse(source, file)
  const code = withoutTextAndComments(source, program)
  const readsTrail = trailReader(code, program)
  const found: NamedScenario[] = []
  visitTests(program, /^(?:skip|todo|fails)/, (call, title) => {
    for (const id of new Set(title.match(scenarioId))) {
      found.push({ id, title, file, readsTrail: readsTrail(call) })
    }
  })
  return found
}

/**
 * The titles of all tests and groups of a file, each behind those of the groups around it: `group › test`. A test that
 * only some machines run (`skipIf`, `runIf`) counts; one that is skipped everywhere, still to do or expected to fail
 * does not.
 */
export function titlesOf(source: string, file: string): string[] {
  const found: string[] = []
  const groups: { readonly title: string; readonly end: number }[] = []
  visitTests(parse(source, file), /^(?:skip|todo|fails)$/, (call, title) => {
    while (groups.length > 0 && groups.at(-1)!.end <= call.start) groups.pop()
    groups.push({ title, end: call.end })
    found.push(groups.map(group => group.title).join(' › '))
  })
  return found
}

/**
 * Each call of test, it, describe or scenario, outermost first; none that has one of the `excluded` words in its name,
 * nor what is below.
 */
function visitTests(program: Node, excluded: RegExp, enter: (call: Call, title: string) => void): void {
  visit(program, node => {
    if (node.type !== 'CallExpression') return true
    const call = node as Call
    const chain = calleeChain(call.callee)
    if (!chain || !/^(?:test|it|describe|scenario)$/.test(chain[0] ?? '')) return true
    if (chain.some(name => excluded.test(name))) return false
    const title = titleOf(call.arguments[0])
    if (title !== undefined) enter(call, title)
    return true
  })
}

function parse(source: string, file: string): Node {
  try {
    return parseAst(source, { lang: file.endsWith('.tsx') ? 'tsx' : 'ts' })
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : error}`)
  }
}

/** `test.concurrent.each(table)` → ['test', 'concurrent', 'each']; undefined for anything that is not such a chain. */
function calleeChain(node: Node): string[] | undefined {
  if (node.type === 'Identifier') return [(node as Node & { name: string }).name]
  if (node.type === 'CallExpression') return calleeChain((node as Call).callee)
  if (node.type === 'TaggedTemplateExpression') return calleeChain((node as Node & { tag: Node }).tag)
  if (node.type !== 'MemberExpression') return undefined
  const { object, property } = node as Node & { object: Node; property: Node & { name?: string } }
  const before = calleeChain(object)
  return before && property.name !== undefined ? [...before, property.name] : undefined
}

/** The text of a string or template; what a template fills in is left out. */
function titleOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Literal') {
    const { value } = node as Node & { value: unknown }
    return typeof value === 'string' ? value : undefined
  }
  if (node?.type !== 'TemplateLiteral') return undefined
  const { quasis } = node as Node & { quasis: readonly { value: { cooked: string } }[] }
  return quasis.map(part => part.value.cooked).join('…')
}

/** Tells of a piece of the file whether it, or a function of the file that it uses, matches one of the patterns. */
function trailReader(code: string, program: Node): (node: Node) => boolean {
  const matches = (text: string) => trailPatterns.some(pattern => pattern.test(text))
  const helpers = new Map<string, string>()
  visit(program, node => {
    const { id, init } = node as Node & { id?: { name?: string } | null; init?: Node | null }
    const isFunction =
      node.type === 'FunctionDeclaration' || (node.type === 'VariableDeclarator' && /Function/.test(init?.type ?? ''))
    if (isFunction && id?.name) helpers.set(id.name, code.slice(node.start, node.end))
    return true
  })
  const readers = new Set<string>()
  const reads = (text: string) => matches(text) || words(text).some(word => readers.has(word))
  for (let size = -1; size !== readers.size; ) {
    size = readers.size
    for (const [name, text] of helpers) if (reads(text)) readers.add(name)
  }
  return node => reads(code.slice(node.start, node.end))
}

function words(text: string): readonly string[] {
  return text.match(/[A-Za-z_$][\w$]*/g) ?? []
}

/**
 * The source with strings, regular expressions and comments blanked, offsets unchanged: what is left is what is
 * executed.
 */
function withoutTextAndComments(source: string, program: Node): string {
  let code = source
  visit(program, node => {
    if (node.type === 'Literal' || node.type === 'TemplateElement') {
      code = code.slice(0, node.start) + ' '.repeat(node.end - node.start) + code.slice(node.end)
    }
    return true
  })
  return code.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, comment => ' '.repeat(comment.length))
}

/** Walks the tree in the order of the source; the children of a node are visited while `enter` returns true. */
function visit(node: Node, enter: (node: Node) => boolean): void {
  if (!enter(node)) return
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, enter)
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}
