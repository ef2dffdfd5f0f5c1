// Completion for zsh, with what each word is for.
import type { FlagSpec } from '../command.ts'
import { type Completable, type Completes, type Completion, ofFlag, ofWords } from './words.ts'

export function zshCompletion({ first, groups, commands }: Completion): string {
  return `#compdef parley
# zsh completion for parley. Load it with: source <(parley completion zsh)
_parley_offer() {
  local -a found kinds
  kinds=(\${=@[-1]})
  for kind in $kinds; do
    if [[ $kind == +* ]]; then found+=(\${kind#+}); else found+=(\${(f)"$(parley completion --offer $kind 2>/dev/null)"}); fi
  done
  compadd "\${@[1,-2]}" -a found
}
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

function branch({ name, flags, args }: Completable): string {
  const specs = flags.map(([flag, spec, known]) =>
    quoted(`${spec.many ? '*' : ''}--${flag}[${safe(spec.summary)}]${flagValue(spec, known)}`),
  )
  const words = args[0] ? [quoted(`*:${safe(args[0].name)}:${action(ofWords(args))}`)] : []
  return `        '${name}') _arguments ${[...specs, ...words].join(' ')} ;;`
}

function flagValue(spec: FlagSpec, known: readonly string[]): string {
  const { value, optional } = spec
  return value === undefined || optional ? '' : `:${safe(value)}:${action(ofFlag(spec, known))}`
}

/** A word with + in front is one to offer; another names what the node is asked for. */
function action({ known, offers, complete }: Completes): string {
  if (offers.length > 0) return `_parley_offer "${[...known.map(each => `+${each}`), ...offers].join(' ')}"`
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
