// Completion for bash: a function that looks at the words before the cursor. Nothing is run while completing.
import { type Completable, type Completion, choicesOf } from './words.ts'

export function bashCompletion({ first, groups, commands }: Completion): string {
  return `# bash completion for parley. Load it with: source <(parley completion bash)
_parley() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} name= word index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == --profile ]]; then ((index++)); continue; fi
    [[ $word == -* ]] && continue
    if [[ -z $name ]]; then name=$word
    elif [[ ${groups.map(([group]) => `$name == ${group}`).join(' || ')} ]]; then name="$name $word"; break
    else break; fi
  done
  case $name in
    '') COMPREPLY=($(compgen -W '${words([...first.map(([word]) => word), '--help', '--version', '--profile', '--json'])}' -- "$current")); return ;;
    help) COMPREPLY=($(compgen -W '${words(first.map(([word]) => word))}' -- "$current")); return ;;
${groups.map(([group, second]) => `    ${group}) COMPREPLY=($(compgen -W '${words([...second.map(([word]) => word), '--help'])}' -- "$current")); return ;;`).join('\n')}
${commands.map(branch).join('\n')}
  esac
}
complete -o filenames -F _parley parley
`
}

function branch(each: Completable): string {
  const flags = each.flags.map(([name]) => `--${name}`)
  const values = each.flags
    .filter(([, spec]) => spec.value !== undefined && !spec.optional)
    .map(([name, spec, known]) => `        --${name}) ${reply(known, spec.complete)}; return ;;`)
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
