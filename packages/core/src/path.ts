// Paths into JSON values as people read them: `body.items[3].name`.
import { limits } from './limits.ts'

const plainKey = /^[A-Za-z_$][\w$-]*$/

/** Text for people, cut where it would flood a message; the whole value is called `value`. */
export function pathText(parts: readonly (string | number)[]): string {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'number') text += `[${part}]`
    else if (!plainKey.test(part)) text += `[${JSON.stringify(part)}]`
    else text += text === '' ? part : `.${part}`
  }
  return text === '' ? 'value' : shorten(text, limits.messagePathLength)
}

export function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`.toWellFormed()
}
