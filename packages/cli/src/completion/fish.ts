// Completion for fish, with what each word is for.
import { type Completable, type Completes, type Completion, ofFlag, ofWords } from './words.ts'

export function fishCompletion({ first, groups, commands }: Completion): string {
  return `# fish completion for parley. Load it with: parley completion fish | source
function __parley_is
    set -l words (commandline -opc | string match -v -- '-*')[2..-1]
    set -l name "$words[1]"
    if contains -- "$name" ${groups.map(([group]) => group).join(' ')}
        set name (string trim -- "$name $words[2]")
    end
    test "$name" = "$argv[1]"
end
complete -c parley -f
${first.map(([word, summary]) => `complete -c parley -n '__parley_is ""' -a ${word} -d ${quoted(summary)}`).join('\n')}
complete -c parley -n '__parley_is help' -a '${first.map(([word]) => word).join(' ')}'
${groups
  .flatMap(([group, second]) =>
    second.map(([word, summary]) => `complete -c parley -n '__parley_is ${group}' -a ${word} -d ${quoted(summary)}`),
  )
  .join('\n')}
${commands.flatMap(linesOf).join('\n')}
`
}

function linesOf({ name, flags, args }: Completable): readonly string[] {
  const when = `complete -c parley -n '__parley_is "${name}"'`
  const options = flags.map(([flag, spec, known]) => {
    const short = spec.short ? ` -s ${spec.short}` : ''
    const isWord = spec.value === undefined || spec.optional
    const value = isWord ? '' : spec.complete ? ' -r -F' : ` -x${offered(ofFlag(spec, known))}`
    return `${when} -l ${flag}${short}${value} -d ${quoted(spec.summary)}`
  })
  const words = ofWords(args)
  const found = offered(words)
  return [...options, ...(words.complete ? [`${when} -F`] : []), ...(found === '' ? [] : [`${when}${found}`])]
}

function offered({ known, offers }: Completes): string {
  const all = [...known, ...offers.map(each => `(parley completion --offer ${each} 2>/dev/null)`)]
  return all.length > 0 ? ` -a '${all.join(' ')}'` : ''
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
