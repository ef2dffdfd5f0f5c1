// Completion for bash: a function that looks at the words before the cursor. Nothing is run while completing.
import type { Table } from '../args.ts'
import { type Completable, choicesOf, completables, firstWords, offersOf, secondWords } from './words.ts'

export function bashCompletion(table: Table): string {
  const groups = table.groups.map(({ name }) => name)
  return `# bash completion for parley. Load it with: source <(parley completion bash)
_parley() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} name= word index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == --profile ]]; then ((index++)); continue; fi
    [[ $word == -* ]] && continue
    if [[ -z $name ]]; then name=$word
    elif [[ ${groups.map(group => `$name == ${group}`).join(' || ')} ]]; then name="$name $word"; break
    else break; fi
  done
  case $name in
    '') COMPREPLY=($(compgen -W '${words([...firstWords(table).map(([word]) => word), '--help', '--version', '--profile', '--json'])}' -- "$current")); return ;;
    help) COMPREPLY=($(compgen -W '${words(firstWords(table).map(([word]) => word))}' -- "$current")); return ;;
${groups.map(group => `    ${group}) COMPREPLY=($(compgen -W '${words([...secondWords(table, group).map(([word]) => word), '--help'])}' -- "$current")); return ;;`).join('\n')}
${completables(table).map(branch).join('\n')}
  esac
}
complete -o filenames -F _parley parley
`
}

function branch(each: Completable): string {
  const flags = each.flags.map(([name]) => `--${name}`)
  const values = each.flags.flatMap(([name, spec]) => {
    if (spec.type === 'boolean') return []
    return [`        --${name}) ${reply(offersOf(spec), spec.complete)}; return ;;`]
  })
  return `    '${each.name}')
      case $previous in
${values.join('\n')}
      esac
      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W '${words(flags)}' -- "$current"))
      else ${reply(choicesOf(each.argument), each.argument?.complete)}; fi ;;`
}

function reply(choices: readonly string[], complete: 'file' | 'folder' | undefined): string {
  if (complete === 'file') return 'COMPREPLY=($(compgen -f -- "$current"))'
  if (complete === 'folder') return 'COMPREPLY=($(compgen -d -- "$current"))'
  return choices.length > 0 ? `COMPREPLY=($(compgen -W '${words(choices)}' -- "$current"))` : 'COMPREPLY=()'
}

/** Words of the table are plain; a quote in one would end the script's own. */
function words(list: readonly string[]): string {
  return list.map(word => word.replaceAll("'", '')).join(' ')
}
