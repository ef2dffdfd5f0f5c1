// Which package may use which (docs/architecture.md). The compiler follows a link in node_modules wherever it leads, so
// the arrows are checked here: by manifest, by project reference and by every import.

/** Each package with those that it may use. A package that is not listed is not there yet. */
export const ARROWS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  protocol: [],
  keys: ['core'],
  trail: ['core', 'keys'],
  kernel: ['core', 'trail'],
  conformance: ['core', 'trail', 'kernel'],
  call: ['core', 'keys'],
  link: ['core', 'keys', 'call'],
  alx: ['core', 'protocol', 'trail'],
  'alx-client': ['protocol'],
  agents: ['core'],
  coordinator: ['core', 'trail', 'kernel', 'agents'],
  node: ['core', 'keys', 'trail', 'kernel', 'agents', 'coordinator', 'call', 'link', 'protocol', 'alx'],
  cli: ['core', 'call', 'node'],
}

/** What the tests of a package may use beside that: never what it publishes, and only as devDependencies. */
export const TESTS_USE: Readonly<Record<string, readonly string[]>> = {
  alx: ['agents', 'coordinator'],
  node: ['alx-client'],
}
const OF_TESTS = /\.test\.ts$|\/src\/testing\//

/** Packages of ours among names of packages: the folder of each. */
export function ours(names: readonly string[]): string[] {
  return names.flatMap(name => /^@(?:parley|alx)\/(.+)$/.exec(name)?.[1] ?? [])
}

export interface PackageFacts {
  readonly name: string
  /** Packages of ours in its manifest, under any kind of dependency. */
  readonly dependencies: readonly string[]
  /** Those of them that are devDependencies. */
  readonly development?: readonly string[]
  /** Packages of ours in the references of its tsconfig. */
  readonly references: readonly string[]
  /** Its sources, by path. */
  readonly sources: ReadonlyMap<string, string>
}

const OURS = /(?:from|import|import\()\s*['"]@(?:parley|alx)\/([a-z-]+)[/'"]/g
const NEIGHBOUR = /(?:from|import|import\()\s*['"](?:\.\.\/)+packages\//

export function arrowProblems(packages: readonly PackageFacts[]): string[] {
  return packages.flatMap(({ name, dependencies, development = [], references, sources }) => {
    const allowed = ARROWS[name]
    if (!allowed) return [`packages/${name} is not among the packages that scripts/arrows.ts knows`]
    const problems: string[] = []
    const wrong = (where: string, used: string) =>
      problems.push(`${where} uses ${published(used)}, which ${name} may not`)
    const forTests = development.filter(used => TESTS_USE[name]?.includes(used))
    for (const used of dependencies)
      if (!allowed.includes(used) && !forTests.includes(used)) wrong(`packages/${name}/package.json`, used)
    if (dependencies.toSorted().join() !== references.toSorted().join()) {
      problems.push(`packages/${name}/tsconfig.json must refer to just what package.json depends on`)
    }
    for (const [path, source] of sources) {
      for (const [, used] of source.matchAll(OURS)) {
        const isKnown = dependencies.includes(used!) && (!forTests.includes(used!) || OF_TESTS.test(path))
        if (used !== name && !isKnown) wrong(path, used!)
      }
      if (NEIGHBOUR.test(source)) problems.push(`${path} reaches into another package by its path`)
    }
    return problems
  })
}

/** ALX-SDK-01 names this one; it belongs to its protocol and not to Parley. */
function published(name: string): string {
  return name === 'protocol' ? '@alx/protocol' : `@parley/${name}`
}
