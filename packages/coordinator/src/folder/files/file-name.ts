// Names of files as git knows them: bytes in any encoding, kept as strings with one character for each byte. People and
// the trail see text; names that are not UTF-8 in git's quoted form.
import { type Brand, ParleyError } from '@parley/core'

/** A path from the top of a repository, with `/`, one character for each byte. */
export type FileName = Brand<string, 'FileName'>

export function splitNames(output: Buffer): FileName[] {
  const names = output.toString('latin1').split('\0')
  names.pop()
  return names as FileName[]
}

export function joinNames(names: Iterable<FileName>): Buffer {
  let text = ''
  for (const name of names) text += `${name}\0`
  return Buffer.from(text, 'latin1')
}

export function nameBytes(name: string): Buffer {
  return Buffer.from(name, 'latin1')
}

export function textName(text: string): FileName {
  return Buffer.from(text, 'utf8').toString('latin1') as FileName
}

/** For matching against patterns: what is not UTF-8 is a replacement character, which no pattern names. */
export function lossyText(name: string): string {
  return nameBytes(name).toString('utf8')
}

/** As text; quoted if it is not UTF-8 or could be taken for a quoted one. */
export function nameText(name: string): string {
  const text = lossyText(name)
  return textName(text) === name && !text.startsWith('"') ? text : quoted(name)
}

function quoted(name: string): string {
  const escaped = name.replace(/[^\x20-\x7e]|["\\]/g, character => {
    if (character === '"' || character === '\\') return `\\${character}`
    return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `"${escaped}"`
}

/** The name of a text that `nameText` gave, or that a person wrote. */
export function parseName(text: string): FileName {
  if (text.includes('\0')) throw new ParleyError('invalid_path', 'A path with a NUL character names no file.')
  if (!/^".*"$/s.test(text)) return textName(text)
  return text
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/gs, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8) & 0xff) : code,
    ) as FileName
}

/** A name from `nameText` as patterns see it: the runtime checks changes against the patterns of a task. */
export function matchedText(text: string): string {
  return lossyText(parseName(text))
}

/** The folders that a path goes through, the outermost first, without the top. */
export function foldersOf(name: string): string[] {
  const folders: string[] = []
  for (let slash = name.indexOf('/'); slash >= 0; slash = name.indexOf('/', slash + 1)) {
    folders.push(name.slice(0, slash))
  }
  return folders
}
