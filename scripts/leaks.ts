// What must not be in a committed file: paths that exist on one machine only, the address of a package registry,
// anything that reaches out of the repository to its neighbours.

interface Leak {
  readonly what: string
  readonly pattern: RegExp
}

/** Add a pattern here to forbid something. None may match its own source, or this file would be found. */
const leaks: readonly Leak[] = [
  { what: 'a path into a folder beside the repository', pattern: /\.\.\/shared\b/ },
  { what: "a path in somebody's home folder", pattern: /(?<![\w.~-])\/(?:home|Users)\/[\w.-]+\// },
  {
    what: 'a path on one machine',
    // `/workspaces/…` is also a service of ours.
    pattern:
      /(?<![\w.~-])\/(?:root|work|workspaces?|builds?)\/(?!(?:create|status|inbox|checkpoint|ask|escalate|block|spend|verdict|waiting|suspend|resume|migrate|left|salvage|VERB)\b)[\w.-]/,
  },
  { what: 'a path on one machine', pattern: /\b[A-Z]:\\\\?Users\\/ },
  {
    what: 'the address of a package registry',
    pattern: /\/\/[\w.-]*\b(?:registry|artifactory|nexus|verdaccio)\b[\w.-]*/,
  },
]

export interface Found {
  readonly line: number
  readonly what: string
  readonly text: string
}

export function findLeaks(content: string): Found[] {
  return content.split('\n').flatMap((text, index) =>
    leaks.flatMap(({ what, pattern }) => {
      const match = pattern.exec(text)
      return match ? [{ line: index + 1, what, text: match[0] }] : []
    }),
  )
}
