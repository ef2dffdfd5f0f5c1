// Changes that a person should know of before they are in a checkout: files that git, a package manager, an editor or a
// CI service runs or obeys without being asked.
import { type Static, Type } from '@parley/core'
import type { Checkout } from '../folder/checkout.ts'
import { closed } from '../view/people-view.ts'

export const NotableSchema = closed({
  kind: Type.Enum(['hook', 'ci', 'script', 'settings']),
  path: Type.String(),
  /** Of a package: the scripts that differ. */
  scripts: Type.Optional(Type.Array(Type.String())),
})
export type Notable = Static<typeof NotableSchema>

const KINDS: readonly (readonly [Notable['kind'], RegExp])[] = [
  [
    'hook',
    /(^|\/)(\.husky|\.githooks|\.git-hooks)\/|(^|\/)(\.?lefthook(-local)?\.(ya?ml|toml|json)|\.pre-commit-config\.ya?ml|\.overcommit\.yml)$/,
  ],
  [
    'ci',
    /^(\.github\/(workflows|actions)|\.gitlab|\.circleci|\.buildkite|\.woodpecker|\.forgejo|\.gitea|\.ci)\/|(^|\/)(action\.ya?ml|\.gitlab-ci\.yml|\.travis\.yml|\.drone\.yml|azure-pipelines\.yml|bitbucket-pipelines\.yml|appveyor\.yml|Jenkinsfile)$/,
  ],
  [
    'settings',
    /(^|\/)(\.envrc|\.npmrc|\.yarnrc\.yml|\.pnpmfile\.cjs|\.gitattributes|\.gitmodules|\.mcp\.json|\.claude\/.*|\.codex\/.*|\.gemini\/.*|\.vscode\/(tasks|settings|launch)\.json|\.devcontainer\/.*)$/,
  ],
]

export async function notableChanges(
  checkout: Checkout,
  paths: readonly string[],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<Notable[]> {
  const hooks = await checkout.hooks()
  const found: Notable[] = []
  for (const path of paths) {
    const kind =
      hooks !== undefined && path.startsWith(`${hooks}/`) ? 'hook' : KINDS.find(([, of]) => of.test(path))?.[0]
    if (kind) found.push({ kind, path })
    else if (/(^|\/)package\.json$/.test(path)) {
      const scripts = changedScripts(await checkout.file(from, path), await checkout.file(to, path))
      if (scripts.length > 0) found.push({ kind: 'script', path, scripts })
    }
  }
  return found
}

function changedScripts(before: string | undefined, after: string | undefined): string[] {
  const [old, now] = [scriptsOf(before), scriptsOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(name => old[name] !== now[name])
}

/** What cannot be read runs nothing either. */
function scriptsOf(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const { scripts } = JSON.parse(text ?? '{}') as { readonly scripts?: unknown }
    return typeof scripts === 'object' && scripts !== null ? { ...scripts } : {}
  } catch {
    return {}
  }
}
