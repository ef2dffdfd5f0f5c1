// The text of config.yaml as a plain value, with the place of everything in it, and what is wrong with it as problems.
import { err, ok, ParleyError, type Result } from '@parley/core'
import { type Located, plain, readYaml, type YamlFault, type YamlText } from '@parley/core/yaml'
import { nodeLimits } from '../limits.ts'

export interface ConfigProblem {
  /** `yaml_syntax`, `too_large`, `unknown_key`, `bad_value`, … */
  readonly code: string
  readonly message: string
  /** A file, `environment NAME` or `flag --name`. */
  readonly source: string
  /** From 1; of files only. */
  readonly line?: number
  readonly column?: number
  /** `log.level`; empty for the whole. */
  readonly path: string
}

export interface Source {
  readonly value: unknown
  readonly root: Located
  readonly placeAt: YamlText['place']
  /** Of the value at a path, or of its key; of what is around it where there is nothing. */
  readonly place: YamlText['placeOf']
}

export function readSource(text: string, file: string): Result<Source, readonly ConfigProblem[]> {
  const { configBytes: bytes, configTokens: tokens, configDepth: depth, configAliasGrowth: aliasGrowth } = nodeLimits
  const { root, faults, place, placeOf } = readYaml(text, { bytes, tokens, depth, aliasGrowth })
  const problems = faults.filter(matters).map(fault => ({ ...told(fault), source: file, ...place(fault.at), path: '' }))
  if (!root || problems.length > 0) return err(problems.slice(0, nodeLimits.configProblems))
  return ok({
    value: plain(root) ?? {},
    root,
    placeAt: place,
    place: placeOf,
  })
}

/** A tag that nobody knows, or half a character, does no harm here. */
function matters(fault: YamlFault): boolean {
  return fault.kind !== 'half_character' && !(fault.kind === 'syntax' && fault.warning)
}

function told(fault: YamlFault): Pick<ConfigProblem, 'code' | 'message'> {
  const [code, message] = TOLD[fault.kind]
  if (fault.kind === 'syntax') return { code, message: `${fault.says.split('\n', 1)[0]!.replace(/\.$/, '')}.` }
  return { code, message: fault.kind === 'alias_unknown' ? `the alias *${fault.anchor} ${message}` : message }
}

const TOLD: Readonly<Record<YamlFault['kind'], readonly [code: string, message: string]>> = {
  too_many_bytes: ['too_large', `the file is larger than ${nodeLimits.configBytes} bytes.`],
  too_many_tokens: ['too_large', 'the file has too many values.'],
  too_deep: ['bad_value', 'the values are nested too deep here.'],
  syntax: ['yaml_syntax', ''],
  second_document: ['yaml_syntax', 'a second document starts here; a configuration is one.'],
  duplicate_key: ['duplicate_key', 'Map keys must be unique.'],
  alias_unknown: ['bad_value', 'repeats nothing that stands before it.'],
  alias_limit: ['bad_value', 'the aliases of this file add up to too much.'],
  half_character: ['bad_value', 'this text holds half a character.'],
}

/** All problems as one refusal: the first one in the message, all in the details. */
export function invalidConfig(problems: readonly ConfigProblem[]): ParleyError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const message = `The configuration cannot be used. ${problemText(first!)}${more}`
  return new ParleyError('invalid_config', message, { details: { problems } })
}

/** `/…/config.yaml:3:7: turns must be …` */
export function problemText({ source, line, column, message }: ConfigProblem): string {
  const place = line === undefined ? source : `${source}:${line}:${column}`
  return `${place}: ${message}`
}
