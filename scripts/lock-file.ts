// What must hold of package-lock.json so that every clone installs the same: it names what the manifests ask for, each
// package by version and checksum, and not the address of the registry that somebody happened to use.

type Ranges = Readonly<Record<string, string>>

export interface Manifest {
  readonly dependencies?: Ranges
  readonly devDependencies?: Ranges
  readonly optionalDependencies?: Ranges
  readonly peerDependencies?: Ranges
}

interface LockedPackage extends Manifest {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}

export interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

/** `manifests` are those of the repository by folder, '' being the root. */
export function lockProblems(lock: Lock, manifests: ReadonlyMap<string, Manifest>): string[] {
  const problems: string[] = []
  for (const [folder, manifest] of manifests) {
    const locked = lock.packages[folder]
    if (!locked || kinds.some(kind => listed(manifest[kind]) !== listed(locked[kind]))) {
      problems.push(`does not fit ${folder ? `${folder}/` : ''}package.json; run \`npm install\``)
    }
  }
  for (const [name, { version, integrity, resolved, link }] of Object.entries(lock.packages)) {
    if (manifests.has(name) || link) continue
    if (!version || !integrity) problems.push(`${name} has no version or no checksum; run \`npm install\``)
    if (resolved)
      problems.push(`${name} names its registry (\`resolved\`); run \`npm install\` with the .npmrc of this repository`)
  }
  return problems
}

function listed(ranges: Ranges | undefined): string {
  return JSON.stringify(Object.entries(ranges ?? {}).sort())
}
