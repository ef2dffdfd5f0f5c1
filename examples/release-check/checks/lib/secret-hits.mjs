// Gathers the secrets among added lines, each once: where it was added first and whether it is still there. Holds the
// secrets themselves in memory, to compare them, and gives out none of them.
import { limits } from './limits.mjs'
import { isOwnFile, tryGit } from './repository.mjs'
import { KEY_BEGIN, KEY_BODY, secretsIn } from './secret-patterns.mjs'

export const IN_TESTS =
  /(?:^|\/)(?:tests?|__tests__|specs?|fixtures?|testdata|mocks?|__mocks__)\/|[._-](?:test|spec)s?\.\w+$/i

/** What was found, once for each secret: where it was added first, and how often. */
export class Hits {
  /** What the allow list names, and made-up values in tests. */
  passedOver = 0
  #found = new Map()
  #allow
  /** A private key's first line; it counts when its body follows. */
  #begun

  constructor(allow) {
    this.#allow = allow
  }

  get size() {
    return this.#found.size
  }

  look(added) {
    const begun = this.#begun
    this.#begun = undefined
    if (isOwnFile(added.file)) return
    const text = added.text.length > limits.lineChars ? added.text.slice(0, limits.lineChars) : added.text
    if (begun && added.file === begun.file && added.commit === begun.commit && added.line - begun.line <= 4) {
      const body = KEY_BODY.exec(text)?.[0]
      if (body) this.#add('private key', body, true, begun)
      else this.#begun = begun
    }
    const begin = KEY_BEGIN.exec(text)
    if (begin) {
      const body = KEY_BODY.exec(text.slice(begin.index + begin[0].length))?.[0]
      if (body) this.#add('private key', body, true, added)
      else this.#begun = added
    }
    for (const { kind, secret, sure } of secretsIn(text)) this.#add(kind, secret, sure, added)
  }

  #add(kind, secret, sure, { commit, date, file, line }) {
    const inTests = IN_TESTS.test(file)
    // A made-up value in a test is the rule; only what has the exact form of a provider's key is worth a look there.
    if ((inTests && !sure) || this.#allow({ commit, file, line })) {
      this.passedOver++
      return
    }
    const place = { commit, date, file, line, inTests }
    const known = this.#found.get(secret)
    if (!known) this.#found.set(secret, { kind, sure, first: place, places: 1, files: new Set([file]) })
    // Reading the present files, which has no commit, adds nothing to what the history told.
    else if (commit) {
      known.places++
      known.files.add(file)
      // The log goes back in time: the last one seen is the oldest. A place outside tests says more than one inside.
      if (known.first.inTests || !inTests) known.first = place
    }
  }

  findings({ commit }) {
    const texts = new Map()
    const present = file => {
      if (!texts.has(file)) texts.set(file, tryGit(['show', `${commit}:${file}`]) ?? '')
      return texts.get(file)
    }
    return [...this.#found].map(([secret, { kind, sure, first, places, files }]) => {
      const still = [first.file, ...files].find(file => present(file).includes(secret))
      const when = first.commit ? `added by ${first.commit.slice(0, 10)} on ${first.date}` : 'in the present files'
      const where = !still
        ? 'no longer in the files, but in the history'
        : still === first.file
          ? 'still in the file'
          : `now in ${still}`
      const often = places > 1 ? `, added ${places} times` : ''
      return {
        severity: sure && !first.inTests ? 'error' : 'warning',
        message: `${kind}, ${when}, ${where}${often}`,
        file: first.file,
        line: first.line,
        commit: first.commit || commit,
      }
    })
  }
}
