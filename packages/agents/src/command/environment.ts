// The environment of an agent: little by default, so that no secret leaks. Secrets are hidden in what it prints.
import { agentLimits } from '../limits.ts'
import { TURN_MARKER } from '../process-table.ts'

/** What every agent gets of the node's environment. A name that ends in `*` stands for all that begin so. */
export const passedByDefault = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'LC_*',
  'TERM',
  'TMPDIR',
  'SHELL',
  'TZ',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
] as const

export type Variables = Readonly<Record<string, string | undefined>>

export interface EnvironmentParts {
  /** The node's own. */
  readonly node: Variables
  readonly pass: readonly string[]
  /** Literal values of the configuration. */
  readonly env: Variables
  /** The turn's own. */
  readonly turn: Variables
  readonly marker: string
  readonly folder: string
}

/** The more specific value wins; nobody can override the marker and the folder. */
export function childEnvironment(parts: EnvironmentParts): Record<string, string> {
  const all = { ...passedOn(parts.node, parts.pass), ...parts.env, ...parts.turn }
  const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
  // Some programs trust PWD more than the folder that they were started in.
  return { ...Object.fromEntries(given), PWD: parts.folder, [TURN_MARKER]: parts.marker }
}

/** What an agent gets of the node's environment. */
export function passedOn(node: Variables, pass: readonly string[]): Variables {
  const names = [...passedByDefault, ...pass]
  return Object.fromEntries(Object.entries(node).filter(([name]) => names.some(each => fits(name, each))))
}

function fits(name: string, pattern: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

/** A variable that names a file with a secret is not secret itself. */
const secretName = /^(?!.*_FILE$).*(KEY|TOKEN|SECRET|PASS(WORD|WD|PHRASE)|CREDENTIAL)/i

/** Replaces the values of variables that look like secrets, for an agent that prints its environment. */
export function secretHider(environment: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.entries(environment)
    .filter(([name]) => secretName.test(name))
    .flatMap(([name, value]) => formsOf(value).map((form): [string, string] => [name, form]))
    .filter(([, form]) => form.length >= agentLimits.secretLength)
    // The longer of two secrets with the same beginning is replaced first.
    .sort(([, one], [, other]) => other.length - one.length)
  return text => secrets.reduce((shown, [name, value]) => shown.replaceAll(value, `[${name}]`), text)
}

/** As it is, as a text in JSON, and each of its lines: what is printed comes line by line. */
function formsOf(value: string): readonly string[] {
  const lines = value.split(/\r?\n/)
  return [...new Set([value, JSON.stringify(value).slice(1, -1), ...lines])]
}
