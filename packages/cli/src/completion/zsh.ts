// Completion for zsh, with what each word is for.
import type { FlagSpec } from '../command.ts'
import { type Completable, type Completion, choicesOf } from './words.ts'

export function zshCompletion({ first, groups, commands }: Completion): string {
  return `#compdef parley
# zsh completion for parley. Load it with: source <(parley completion zsh)
_parley() {
  local context state line name
  local -a words_of
  _arguments -C '--profile[The profile]:name:' '--json[Print JSON]' '1: :->command' '*:: :->rest' && return
  case $state in
    command) words_of=(${described(first)}); _describe 'command' words_of ;;
    rest)
      name=$line[1]
      if [[ ${groups.map(([group]) => `$name == ${group}`).join(' || ')} ]]; then
        if (( CURRENT == 2 )); then
          case $name in
${groups.map(([group, second]) => `            ${group}) words_of=(${described(second)}) ;;`).join('\n')}
          esac
          _describe 'command' words_of
          return
        fi
        name="$name $words[2]"
        shift words
        (( CURRENT-- ))
      fi
      case $name in
        help) words_of=(${described(first)}); _describe 'command' words_of ;;
${commands.map(branch).join('\n')}
      esac ;;
  esac
}
if [[ $zsh_eval_context == *loadautofunc* ]]; then _parley "$@"; else compdef _parley parley; fi
`
}

function branch({ name, flags, argument }: Completable): string {
  const specs = flags.map(([flag, spec, known]) =>
    quoted(`${spec.many ? '*' : ''}--${flag}[${safe(spec.summary)}]${flagValue(spec, known)}`),
  )
  const words = argument ? [quoted(`*:${safe(argument.name)}:${action(choicesOf(argument), argument.complete)}`)] : []
  return `        '${name}') _arguments ${[...specs, ...words].join(' ')} ;;`
}

function flagValue({ value, optional, complete }: FlagSpec, known: readonly string[]): string {
  return value === undefined || optional ? '' : `:${safe(value)}:${action(known, complete)}`
}

function action(known: readonly string[], complete: FlagSpec['complete']): string {
  if (known.length > 0) return `(${known.join(' ')})`
  return complete === undefined ? '' : complete === 'file' ? '_files' : '_files -/'
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
