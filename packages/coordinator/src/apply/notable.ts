// Changes that a person should know of before they are in a checkout: files that git, a package manager, an editor or a
// CI service runs or obeys without being asked, by whatever name it reaches them.
import { type Static, Type } from '@parley/core'
import type { Checkout } from '../folder/checkout.ts'
import { type FileName, lossyText, nameText } from '../folder/files/file-name.ts'
import { closed } from '../view/people-view.ts'
import { folded, TreeLinks } from './tree-links.ts'

export const NotableSchema = closed({
  kind: Type.Enum(['hook', 'ci', 'script', 'settings']),
  path: Type.String(),
  /** Links lead there from this name, which is the one that other programs use. */
  as: Type.Optional(Type.String()),
  /** Of a package: the scripts that differ. Not where the file cannot be read or is a link. */
  scripts: Type.Optional(Type.Array(Type.String())),
})
export type Notable = Static<typeof NotableSchema>

/** In any folder, or at the top if it begins with `/`; all below if it ends with one. `*` is any part of a name. */
const PLACES: Readonly<Record<Notable['kind'], string>> = {
  hook: `.husky/ .githooks/ .git-hooks/ lefthook.* .lefthook.* lefthook-local.* .lefthook-local.*
    .pre-commit-config.y* .overcommit.yml`,
  ci: `/.github/workflows/ /.github/actions/ /.gitlab/ /.circleci/ /.buildkite/ /.woodpecker/ /.forgejo/ /.gitea/ /.ci/
    /.semaphore/ action.y* .gitlab-ci.yml .travis.yml .drone.yml .woodpecker.y* .cirrus.yml azure-pipelines.yml
    bitbucket-pipelines.yml appveyor.yml .appveyor.yml Jenkinsfile`,
  script: 'package.json package.json5 package.yaml binding.gyp',
  settings: `.envrc .mise.toml mise.toml .mise/ .config/mise/ .tool-versions .npmrc .yarnrc .yarnrc.yml .yarn/
    .pnpmfile.* pnpm-workspace.yaml bunfig.toml .cargo/config .cargo/config.toml .bazelrc .gitattributes .gitmodules
    .gitconfig .lfsconfig .mcp.json .claude/ .codex/ .gemini/ .qwen/ .copilot/ .opencode/ opencode.json* .cursor/ .windsurf/
    .kiro/ .amazonq/ .roo/ .continue/ .crush.json crush.json .aider.conf.yml .vscode/tasks.json .vscode/settings.json
    .vscode/launch.json .vscode/mcp.json *.code-workspace .idea/ .zed/ .devcontainer/ .devcontainer.json .gitpod.yml
    .exrc .nvimrc .nvim.lua .vimrc .dir-locals.el .gdbinit .lldbinit`,
}

interface Rule {
  readonly kind: Notable['kind']
  readonly file: RegExp
  /** A link here or at a folder on the way decides what is at the place. */
  readonly link: RegExp
}

const RULES: readonly Rule[] = (Object.keys(PLACES) as Notable['kind'][]).map(kind => {
  const places = folded(PLACES[kind]).split(/\s+/)
  return { kind, file: either(places.map(fileAt)), link: either(places.map(linkAt)) }
})

function either(patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 's')
}

function fileAt(place: string): string {
  return `${begin(place)}${partsOf(place).map(glob).join('/')}${place.endsWith('/') ? '/' : '$'}`
}

function linkAt(place: string): string {
  return onTheWay(begin(place), partsOf(place).map(glob))
}

function begin(place: string): string {
  return place.startsWith('/') ? '^' : '(^|/)'
}

function onTheWay(start: string, parts: readonly string[]): string {
  return `${start}${parts.reduceRight((below, part) => `${part}(/${below})?`)}$`
}

function partsOf(place: string): string[] {
  return place.split('/').filter(part => part !== '')
}

function glob(part: string): string {
  return literal(part).replaceAll('\\*', '[^/]*')
}

function literal(part: string): string {
  return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

export async function notableChanges(
  checkout: Pick<Checkout, 'top' | 'hooks' | 'links' | 'file'>,
  names: readonly FileName[],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<Notable[]> {
  const links = new TreeLinks(checkout.top, await checkout.links(to))
  const hooks = hookRules(await checkout.hooks())
  const found: Notable[] = []
  for (const name of names) {
    const path = lossyText(name)
    const about = notableAt(path, links, hooks)
    if (!about) continue
    const notable = { kind: about.kind, path: nameText(name), ...(about.as !== path && { as: about.as }) }
    const isPackage = /(^|\/)package\.json$/.test(folded(about.as))
    if (!isPackage || links.has(path)) found.push(notable)
    else {
      const scripts = changedScripts(await checkout.file(from, path), await checkout.file(to, path))
      if (scripts === undefined) found.push(notable)
      else if (scripts.length > 0) found.push({ ...notable, scripts })
    }
  }
  return found
}

/** The user's hooks: each a file or a folder. */
function hookRules(hooks: readonly string[]): Rule[] {
  return hooks.map(hook => {
    // All of the checkout may be the folder of its hooks.
    if (hook === '') return { kind: 'hook', file: /^/, link: /^/ }
    const parts = partsOf(folded(hook)).map(literal)
    return { kind: 'hook', file: new RegExp(`^${parts.join('/')}(/|$)`), link: new RegExp(onTheWay('^', parts)) }
  })
}

function notableAt(path: string, links: TreeLinks, hooks: readonly Rule[]) {
  const names = links.namesOf(path)
  // Nobody can say what it is used as.
  if (!names) return { kind: 'settings' as const, as: path }
  const isLink = links.has(path)
  for (const as of names) {
    const name = folded(as)
    const rule = [...hooks, ...RULES].find(({ file, link }) => file.test(name) || (isLink && link.test(name)))
    if (rule) return { kind: rule.kind, as }
  }
  return undefined
}

/** Undefined where one of them cannot be read: other programs may read more than JSON. */
export function changedScripts(before: string | undefined, after: string | undefined): string[] | undefined {
  const [old, now] = [scriptsOf(before ?? '{}'), scriptsOf(after ?? '{}')]
  if (!old || !now || (before ?? after) === undefined) return undefined
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(name => old[name] !== now[name])
}

function scriptsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const { scripts } = JSON.parse(text.replace(/^\uFEFF/, '')) as { readonly scripts?: unknown }
    return typeof scripts === 'object' && scripts !== null ? { ...scripts } : {}
  } catch {
    return undefined
  }
}
