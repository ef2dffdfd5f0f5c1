// How an answer tells that its turn failed (ALP-ASK-04): its text ends with a segment of its own. Reference peers tell
// it in no other way; ours say `failed` as well.
const MARK = '[error] '

export function errorSegment(error: string): string {
  return `${MARK}${error}`
}

/** The error that a text ends with; undefined where its last segment is none. */
export function errorIn(text: string): string | undefined {
  const blank = text.lastIndexOf('\n\n')
  const last = blank < 0 ? text : text.slice(blank + 2)
  return last.startsWith(MARK) ? last.slice(MARK.length) : undefined
}
