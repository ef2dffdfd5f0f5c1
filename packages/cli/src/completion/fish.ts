// Completion for fish, with what each word is for.
import type { Table } from '../args.ts'
import { type Completable, choicesOf, completables, firstWords, offersOf, secondWords } from './words.ts'

export function fishCompletion(table: Table): string {
  const groups = table.groups.map(({ name }) => name)
  const plain = firstWords(table).map(([word]) => word)
  return `# fish completion for parley. Load it with: parley completion fish | source
function __parley_is
    set -l words (commandline -opc | string match -v -- '-*')[2..-1]
    set -l name "$words[1]"
    if contains -- "$name" ${groups.join(' ')}
        set name (string trim -- "$name $words[2]")
    end
    test "$name" = "$argv[1]"
end
complete -c parley -f
${firstWords(table)
  .map(([word, summary]) => `complete -c parley -n '__parley_is ""' -a ${word} -d ${quoted(summary)}`)
  .join('\n')}
complete -c parley -n '__parley_is help' -a '${plain.join(' ')}'
${groups
  .flatMap(group =>
    secondWords(table, group).map(
      ([word, summary]) => `complete -c parley -n '__parley_is ${group}' -a ${word} -d ${quoted(summary)}`,
    ),
  )
  .join('\n')}
${completables(table).flatMap(linesOf).join('\n')}
`
}

function linesOf({ name, flags, argument }: Completable): readonly string[] {
  const when = `complete -c parley -n '__parley_is "${name}"'`
  const options = flags.map(([flag, spec]) => {
    const short = spec.short ? ` -s ${spec.short}` : ''
    const value =
      spec.type === 'boolean'
        ? ''
        : spec.complete
          ? ' -r -F'
          : offersOf(spec).length > 0
            ? ` -x -a '${offersOf(spec).join(' ')}'`
            : ' -x'
    return `${when} -l ${flag}${short}${value} -d ${quoted(spec.summary)}`
  })
  const choices = choicesOf(argument)
  return [
    ...options,
    ...(argument?.complete ? [`${when} -F`] : []),
    ...(choices.length > 0 ? [`${when} -a '${choices.join(' ')}'`] : []),
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
