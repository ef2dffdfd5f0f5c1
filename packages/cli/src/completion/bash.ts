// Completion for bash: a function that looks at the words before the cursor. Ids of runs and the like come from
// `parley completion --offer`, which starts no node.
import { type Completable, type Completes, type Completion, ofFlag, ofWords } from './words.ts'

export function bashCompletion({ first, groups, commands }: Completion): string {
  return `# bash completion for parley. Load it with: source <(parley completion bash)
_parley_offer() {
  parley \${_parley_profile:+--profile "$_parley_profile"} completion --offer "$1" 2>/dev/null
}
_parley() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} name= word index _parley_profile=
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == --profile ]]; then _parley_profile=\${COMP_WORDS[++index]}; continue; fi
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
    .map(([name, spec, known]) => `        --${name}) ${reply(ofFlag(spec, known))}; return ;;`)
  return `    '${each.name}')
      case $previous in
${values.join('\n')}
      esac
      if [[ $current == -* ]]; then COMPREPLY=($(compgen -W '${words(flags)}' -- "$current"))
      else ${reply(ofWords(each.args))}; fi ;;`
}

function reply({ known, offers, complete }: Completes): string {
  if (complete === 'file') return 'COMPREPLY=($(compgen -f -- "$current"))'
  if (complete === 'folder') return 'COMPREPLY=($(compgen -d -- "$current"))'
  if (offers.length === 0)
    return known.length > 0 ? `COMPREPLY=($(compgen -W '${words(known)}' -- "$current"))` : 'COMPREPLY=()'
  const found = offers.map(each => `$(_parley_offer ${each})`).join(' ')
  return `COMPREPLY=($(compgen -W "${words(known)} ${found}" -- "$current"))`
}

/** Words of the table are plain; a quote in one would end the script's own. */
function words(list: readonly string[]): string {
  return list.map(word => word.replaceAll("'", '')).join(' ')
}
