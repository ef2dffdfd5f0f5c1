// Completion for zsh, with what each word is for.
import type { Table } from '../args.ts'
import type { FlagSpec } from '../command.ts'
import { type Completable, choicesOf, completables, firstWords, offersOf, secondWords } from './words.ts'

export function zshCompletion(table: Table): string {
  const groups = table.groups.map(({ name }) => name)
  return `#compdef parley
# zsh completion for parley. Load it with: source <(parley completion zsh)
_parley() {
  local context state line name
  local -a words_of
  _arguments -C '--profile[The profile]:name:' '--json[Print JSON]' '1: :->command' '*:: :->rest' && return
  case $state in
    command) words_of=(${described(firstWords(table))}); _describe 'command' words_of ;;
    rest)
      name=$line[1]
      if [[ ${groups.map(group => `$name == ${group}`).join(' || ')} ]]; then
        if (( CURRENT == 2 )); then
          case $name in
${groups.map(group => `            ${group}) words_of=(${described(secondWords(table, group))}) ;;`).join('\n')}
          esac
          _describe 'command' words_of
          return
        fi
        name="$name $words[2]"
        shift words
        (( CURRENT-- ))
      fi
      case $name in
        help) words_of=(${described(firstWords(table))}); _describe 'command' words_of ;;
${completables(table).map(branch).join('\n')}
      esac ;;
  esac
}
if [[ $zsh_eval_context == *loadautofunc* ]]; then _parley "$@"; else compdef _parley parley; fi
`
}

function branch({ name, flags, argument }: Completable): string {
  const specs = flags.map(([flag, spec]) =>
    quoted(`${spec.many ? '*' : ''}--${flag}[${safe(spec.summary)}]${flagValue(spec)}`),
  )
  const choices = choicesOf(argument)
  const action =
    argument?.complete === 'file'
      ? '_files'
      : argument?.complete === 'folder'
        ? '_files -/'
        : choices.length > 0
          ? `(${choices.join(' ')})`
          : ''
  const words = argument ? [quoted(`*:${safe(argument.name)}:${action}`)] : []
  return `        '${name}') _arguments ${[...specs, ...words].join(' ')} ;;`
}

function flagValue(spec: FlagSpec): string {
  if (spec.type === 'boolean') return ''
  const offers = offersOf(spec)
  const action =
    offers.length > 0
      ? `(${offers.join(' ')})`
      : spec.complete === 'file'
        ? '_files'
        : spec.complete === 'folder'
          ? '_files -/'
          : ''
  return `:${safe(spec.value ?? 'value')}:${action}`
}

function described(list: readonly (readonly [string, string])[]): string {
  return list.map(([word, summary]) => quoted(`${word}:${safe(summary)}`)).join(' ')
}

/** Brackets and colons have a meaning of their own there. */
function safe(text: string): string {
  return text.replace(/[[\]:\\]/g, ' ').replace(/\s+/g, ' ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
