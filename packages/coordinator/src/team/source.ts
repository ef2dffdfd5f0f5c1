// The text of a team file as values that know where they stand; what is wrong with it, in the words of team files.
import { assertNever } from '@parley/core'
import { type Located, readYaml, type YamlFault } from '@parley/core/yaml'
import { teamLimits } from './limits.ts'
import type { Finding, Place, TeamProblemCode } from './problem.ts'
import { didYouMean, quote } from './words.ts'

export interface Source {
  readonly place: Place
  /** Undefined where the text is no YAML, and `findings` say why. */
  readonly root: Located | undefined
  readonly findings: readonly Finding[]
}

export function readSource(text: string): Source {
  const { fileBytes: bytes, fileTokens: tokens, fileDepth: depth, aliasGrowth } = teamLimits
  const { root, faults, place } = readYaml(text, { bytes, tokens, depth, aliasGrowth })
  // Where the parser is not content, not even with a tag, its values are not looked at.
  const syntax = faults.filter(({ kind }) => kind === 'syntax' || kind === 'second_document')
  if (syntax.length > 0) return { place, root: undefined, findings: syntax.map(findingOf) }
  return { place, root, findings: faults.map(findingOf) }
}

function findingOf(fault: YamlFault): Finding {
  const { at, path } = fault
  return { code: CODES[fault.kind], at, path, message: () => messageOf(fault) }
}

const CODES: Readonly<Record<YamlFault['kind'], TeamProblemCode>> = {
  too_many_bytes: 'too_large',
  too_many_tokens: 'too_large',
  too_deep: 'too_deep',
  syntax: 'yaml_syntax',
  second_document: 'yaml_syntax',
  duplicate_key: 'duplicate_key',
  alias_unknown: 'alias_unknown',
  alias_limit: 'alias_limit',
  half_character: 'bad_value',
}

function messageOf(fault: YamlFault): string {
  switch (fault.kind) {
    case 'too_many_bytes':
      return tooLarge(`has ${fault.bytes} bytes`, `${teamLimits.fileBytes} bytes`)
    case 'too_many_tokens':
      return tooLarge('has too many values', `${teamLimits.fileTokens} tokens of YAML`)
    case 'too_deep':
      return 'The values are nested too deep here; no field of a team file needs that.'
    case 'syntax':
      return syntaxMessage(fault.code, fault.says)
    case 'second_document':
      return 'A second document starts here. A team file holds one; put the other into a file of its own.'
    case 'duplicate_key':
      return `The key ${quote(fault.key)} stands here a second time. Keep one of the two.`
    case 'alias_unknown': {
      const { anchor, inside, known } = fault
      const reason = inside
        ? `The alias ${quote(`*${anchor}`)} stands inside the value that it repeats.`
        : `The alias ${quote(`*${anchor}`)} repeats nothing: no value before it has the anchor ${quote(`&${anchor}`)}.`
      return reason + didYouMean(anchor, known())
    }
    case 'alias_limit':
      return 'The aliases of this file add up to too much. Write fewer of them.'
    case 'half_character':
      return 'This text holds half a character, which cannot be stored. Look for a \\ud… in it.'
    default:
      return assertNever(fault)
  }
}

function tooLarge(has: string, most: string): string {
  return `The file ${has}; a team file has at most ${most}. Long texts belong in files that a prompt names.`
}

function syntaxMessage(code: string, message: string): string {
  if (code === 'NON_STRING_KEY') return 'A key must be a plain word.'
  if (code === 'TAG_RESOLVE_FAILED') return `${message}. Team files use no tags; leave it out.`
  return `This is not YAML: ${message}${message.endsWith('.') ? '' : '.'}`
}
