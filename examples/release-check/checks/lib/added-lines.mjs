// Reads what `git log -p` prints, as it comes, and hands out every added line with its commit, file and line. Hunks are
// followed by the counts in their heads, so that no content can pass for a head.

/** What starts a commit in the output: the format to give to `git log`. A NUL never starts a line of a head. */
export const COMMIT_FORMAT = '%x00%H %cs'

const HUNK = /^(@@+)((?: -\d+(?:,\d+)?)+) \+(\d+)(?:,(\d+))? @@/

export class AddedLines {
  commits = 0
  commit = ''
  #date = ''
  #file
  #line = 0
  /** Lines still to come of the new side and of each old side; a merge has several old ones. */
  #left = { added: 0, old: [] }
  #rest = ''
  #onLine

  /** `onLine({ commit, date, file, line, text })` for each added line. */
  constructor(onLine) {
    this.#onLine = onLine
  }

  /** Bytes as latin1, which is quick and loses nothing; file names are decoded as UTF-8. */
  push(chunk) {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n')
    this.#rest = lines.pop()
    for (const line of lines) this.#take(line)
  }

  #take(line) {
    const open = this.#left.added > 0 || this.#left.old.some(count => count > 0)
    // git miscounts hunks of merges that deleted a file: what begins otherwise is no content, whatever is to come.
    if (open && /^[ +\\-]|^$/.test(line)) return this.#content(line)
    this.#left = { added: 0, old: [] }
    if (line.startsWith('\0')) {
      ;[this.commit, this.#date] = line.slice(1).split(' ')
      this.commits++
    } else if (line.startsWith('+++ ')) this.#file = fileName(line.slice(4))
    else if (line.startsWith('@@')) this.#hunk(line)
  }

  #hunk(line) {
    const [, marks, old, start, added = '1'] = HUNK.exec(line) ?? []
    if (!marks) return
    this.#line = Number(start)
    const counts = old
      .trim()
      .split(' ')
      .map(side => Number(side.split(',')[1] ?? 1))
    this.#left = { added: Number(added), old: counts }
  }

  #content(line) {
    if (line.startsWith('\\')) return
    const { old } = this.#left
    const marks = line.slice(0, old.length)
    const gone = marks.includes('-')
    for (let side = 0; side < old.length; side++) if (marks[side] === (gone ? '-' : ' ')) old[side]--
    if (gone) return
    this.#left.added--
    const number = this.#line++
    if (!/^\++$/.test(marks)) return
    this.#onLine({
      commit: this.commit,
      date: this.#date,
      file: this.#file,
      line: number,
      text: line.slice(old.length),
    })
  }
}

const escapes = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v', '"': '"', '\\': '\\' }

/** `b/name`, with a tab behind it where it has a space, in quotes where it has control characters. */
function fileName(text) {
  const plain = text.startsWith('"')
    ? text
        .slice(1, text.lastIndexOf('"'))
        .replace(/\\(\d{3}|.)/g, (_, code) => escapes[code] ?? String.fromCharCode(Number.parseInt(code, 8)))
    : text.replace(/\t$/, '')
  return Buffer.from(plain.replace(/^b\//, ''), 'latin1').toString('utf8')
}
