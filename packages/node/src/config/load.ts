// The configuration of a profile: the file, then the environment, then flags, each value with where it came from.
// All mistakes are reported at once.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { type GatesSchema, gatesOf, type Team } from '@parley/coordinator'
import { compile, err, nearest, ok, type ParleyError, type Result, type Static } from '@parley/core'
import { HIGHWAY_PRESETS, type HighwayPreset } from '@parley/kernel'
import { nodeLimits } from '../limits.ts'
import { isPassphraseHash } from '../profile/passphrase.ts'
import { chosenPaths, type Environment, type ProfilePaths } from '../profile/paths.ts'
import { type ReadAgents, readAgents } from './agents.ts'
import { type ConfigFile, ConfigSchema, namesIn } from './schema.ts'
import type { Setting } from './setting.ts'
import { SETTINGS, type SettingValues } from './settings.ts'
import { type ConfigProblem, invalidConfig, problemText, readSource, type Source } from './source.ts'

export interface ConfigValues extends SettingValues {
  /** For runs whose team says nothing about gates. */
  readonly gates?: NonNullable<Team['gates']>
  /** The hash of the passphrase that answers need. */
  readonly passphrase?: string
  readonly agents: Team['agents']
}

/** One value as `parley config` shows it. */
export interface ConfigEntry {
  readonly key: string
  readonly value: unknown
  /** `default`, `file <path>:<line>`, `environment NAME`, `flag --name`. */
  readonly from: string
}

export interface Config {
  readonly paths: ProfilePaths
  readonly values: ConfigValues
  readonly entries: readonly ConfigEntry[]
}

export interface LoadOptions {
  /**
   * By their names without dashes: `profile`, `turns`, `log-level`, `idle-timeout`, `default-agent`, `deployment`,
   * `trusted-keys`, `trail-compact`, …
   */
  readonly flags?: Readonly<Record<string, string | undefined>>
  readonly env?: Environment
  /** The user's own folder. */
  readonly home?: string
}

const shape = compile(ConfigSchema)

/** Refuses with `invalid_config`, whose details list every problem with its place, or `invalid_profile`. */
export function loadConfig(options: LoadOptions = {}): Result<Config> {
  const { flags = {}, env = process.env, home = homedir() } = options
  const paths = chosenPaths(flags.profile, env, home)
  if (!paths.ok) return paths
  const file = readFile(paths.value.config)
  if (!file.ok) return err(invalidConfig(file.error))
  const problems: ConfigProblem[] = [...file.value.problems]
  const entries: ConfigEntry[] = []
  const pick = (setting: Setting<never>) => {
    const { value, from } = choose(setting, file.value, flags, env, problems)
    entries.push({ key: setting.key, value: setting.show(value), from })
    return value
  }
  const picked = Object.entries(SETTINGS).map(([name, setting]) => [name, pick(setting as Setting<never>)])
  const settings: SettingValues = Object.fromEntries(picked)
  if (problems.length > 0) return err(invalidConfig(problems.slice(0, nodeLimits.configProblems)))
  const { agents } = file.value
  const { confirm, ...gatesSaid } = file.value.value.gates ?? {}
  if (confirm !== undefined && !isPassphraseHash(confirm))
    return err(invalidConfig([noHash(paths.value.config, file.value.source?.place(['gates', 'confirm']))]))
  const said = Object.keys(gatesSaid).length > 0 ? gatesSaid : undefined
  const gates = gatesFrom(said, env.PARLEY_GATES || undefined)
  if (gates.problem) return err(invalidConfig([gates.problem]))
  entries.push({
    key: 'gates',
    value: gates.value ? (gates.preset ? { preset: gates.preset } : said) : null,
    from: gates.preset ? 'environment PARLEY_GATES' : said ? inFile(file.value, 'gates') : 'default',
  })
  // Not even its hash is shown.
  entries.push({
    key: 'gates.confirm',
    value: confirm === undefined ? null : 'a passphrase',
    from: confirm === undefined ? 'default' : inFile(file.value, 'gates', 'confirm'),
  })
  for (const [name, agent] of Object.entries(agents)) entries.push(agentEntry(name, agent, file.value))
  return ok({
    paths: paths.value,
    values: {
      ...settings,
      agents,
      ...(gates.value && { gates: gates.value }),
      ...(confirm !== undefined && { passphrase: confirm }),
    },
    entries,
  })
}

/** A preset from the environment goes before what the file says. */
function gatesFrom(
  said: Static<typeof GatesSchema> | undefined,
  preset: string | undefined,
): { readonly value?: NonNullable<Team['gates']>; readonly preset?: HighwayPreset; readonly problem?: ConfigProblem } {
  if (preset === undefined) return said ? { value: gatesOf(said) } : {}
  const known = HIGHWAY_PRESETS.find(each => each === preset)
  if (known) return { value: { preset: known, gates: {} }, preset: known }
  const message = `gates must be one of ${HIGHWAY_PRESETS.join(', ')}, not ${JSON.stringify(preset.slice(0, 80))}.`
  return { problem: { code: 'bad_value', message, source: 'environment PARLEY_GATES', path: 'gates' } }
}

interface FileValues {
  readonly path: string
  readonly value: ConfigFile
  readonly source: Source | undefined
  readonly agents: Team['agents']
  readonly problems: readonly ConfigProblem[]
}

const NO_AGENTS: ReadAgents = { agents: {}, problems: [] }

function readFile(path: string): Result<FileValues, readonly ConfigProblem[]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return ok({ path, value: {}, source: undefined, ...NO_AGENTS })
    return err([{ code: 'unreadable', message: `the file cannot be read (${code}).`, source: path, path: '' }])
  }
  const source = readSource(text, path)
  if (!source.ok) return source
  const problems = shapeProblems(source.value, path)
  if (problems.length > 0) return err(problems)
  const value = source.value.value as ConfigFile
  return ok({ path, value, source: source.value, ...readAgents(source.value, path) })
}

/** What the schema does not accept, in the order of the file. */
function shapeProblems(source: Source, file: string): readonly ConfigProblem[] {
  const found = shape.problems(source.value).map(({ pointer, expected, actual }): ConfigProblem => {
    const parts = pointer
      .split('/')
      .slice(1)
      .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    const key = parts.join('.')
    if (expected === 'no such member') {
      const meant = nearest(parts.at(-1)!, namesIn(parts.length === 1 ? undefined : parts[0]))
      const message = `there is no setting ${JSON.stringify(key.slice(0, 80))}.${meant === undefined ? '' : ` Did you mean '${meant}'?`}`
      return { code: 'unknown_key', message, source: file, ...source.place(parts, 'key'), path: key }
    }
    // Somebody may have put the passphrase itself there: it is not repeated.
    if (key === 'gates.confirm') return noHash(file, source.place(parts))
    const words = Object.values(SETTINGS).find(each => each.key === key)?.expected ?? expected
    const message =
      key === '' ? `the file must hold settings, not ${actual}.` : `${key} must be ${words}, not ${actual}.`
    return { code: 'bad_value', message, source: file, ...source.place(parts), path: key }
  })
  return found.toSorted((one, other) => one.line! - other.line! || one.column! - other.column!)
}

function noHash(source: string, place: ReturnType<Source['place']> | undefined): ConfigProblem {
  const message = 'gates.confirm must be a hash that `parley passphrase` wrote, never the passphrase itself.'
  return { code: 'bad_value', message, source, ...place, path: 'gates.confirm' }
}

interface Choice<T> {
  readonly value: T
  readonly from: string
}

function choose<T>(
  setting: Setting<T>,
  file: FileValues,
  flags: Readonly<Record<string, string | undefined>>,
  env: Environment,
  problems: ConfigProblem[],
): Choice<T> {
  const path = setting.key.split('.')
  const inFile = path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], file.value)
  const given: readonly (readonly [said: unknown, source: string, place?: ReturnType<Source['place']>])[] = [
    [flags[setting.flag], `flag --${setting.flag}`],
    ...variablesOf(setting).map(name => [env[name] || undefined, `environment ${name}`] as const),
    ...(inFile !== undefined && file.source ? [[inFile, file.path, file.source.place(path)] as const] : []),
  ]
  const choices: Choice<T>[] = []
  for (const [said, source, place] of given) {
    if (said === undefined) continue
    const value = setting.read(said)
    if (value !== undefined) choices.push({ value, from: place ? `file ${source}:${place.line}` : source })
    else problems.push({ ...badValue(setting, said, source), ...place })
  }
  return choices[0] ?? { value: setting.fallback, from: 'default' }
}

function variablesOf({ override, variable }: Setting<unknown>): readonly string[] {
  return override === undefined ? [variable] : [override, variable]
}

function badValue(setting: Setting<unknown>, value: unknown, source: string): ConfigProblem {
  const shown = JSON.stringify(value)?.slice(0, 80)
  const message = `${setting.key} must be ${setting.expected}, not ${shown}.`
  return { code: 'bad_value', message, source, path: setting.key }
}

/** Values of variables are left out: somebody may have put a key there in spite of the guide. */
function agentEntry(name: string, agent: Team['agents'][string], file: FileValues): ConfigEntry {
  const { env, ...rest } = agent
  const value = { ...rest, ...(typeof env === 'object' && env !== null && { env: Object.keys(env) }) }
  return { key: `agents.${name}`, value, from: inFile(file, 'agents', name) }
}

function inFile({ path, source }: FileValues, ...key: readonly string[]): string {
  return `file ${path}:${source?.place(key, 'key').line ?? 1}`
}

/** The problems of a refusal by `loadConfig`, each with its place; none for any other error. */
export function configProblems({ code, details }: ParleyError): readonly string[] {
  return code === 'invalid_config' ? (details.problems as readonly ConfigProblem[]).map(problemText) : []
}
