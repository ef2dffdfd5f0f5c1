// Finds links and anchors in Markdown the way GitHub reads it: what is in code, in comments or escaped is text.

/**
 * `[text](target "title")`; the text may hold an image, the target one level of parentheses. Only looks ahead, so that
 * both are found.
 */
const INLINE =
  /(!?)\[(?=(?:[^[\]\\]|\\.|\[[^\]]*\])*\]\(\s*(<[^>\n]*>|(?:[^\s()\\]|\\.|\([^\s()]*\))+)(?:\s+(?:"[^"]*"|'[^']*'|\([^)]*\)))?\s*\))/g
const DEFINITION = /^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*<?([^\s>]+)/gm
const HTML = /<(a|img|source|video)\b[^>]*?\s(?:href|src)\s*=\s*["']([^"'\n]+)["']/gi

/** Every link and image: [{ target, line, image }]. */
export function linksOf(markdown) {
  const text = withoutCode(markdown)
  const inline = [...text.matchAll(INLINE)].map(({ index, 1: mark, 2: target }) => ({
    index,
    target: target.replace(/^<|>$/g, '').replace(/\\(.)/g, '$1'),
    image: mark === '!',
  }))
  const definitions = [...text.matchAll(DEFINITION)].map(({ index, 1: target }) => ({
    index,
    target,
    image: false,
  }))
  const html = [...text.matchAll(HTML)].map(({ index, 1: tag, 2: target }) => ({
    index,
    target,
    image: tag.toLowerCase() !== 'a',
  }))
  const starts = [...text.matchAll(/^/gm)].map(({ index }) => index)
  let line = 0
  return [...inline, ...definitions, ...html]
    .filter(({ target }) => target)
    .toSorted((a, b) => a.index - b.index)
    .map(({ index, target, image }) => {
      while (line < starts.length && starts[line] <= index) line++
      return { target, image, line }
    })
}

/** The anchors that a link may name, in lower case: headings as GitHub spells them, and ids and names in HTML. */
export function anchorsOf(markdown) {
  const anchors = new Set(['', 'top'])
  const used = new Map()
  const lines = withoutCode(markdown, true).split('\n')
  for (const [index, line] of lines.entries()) {
    for (const [, id] of line.matchAll(/\s(?:id|name)\s*=\s*["']([^"']+)["']/gi)) anchors.add(id.toLowerCase())
    const title = /^ {0,3}#{1,6}(?:\s+(.*?))?(?:\s+#+)?\s*$/.exec(line)?.[1] ?? setextTitle(line, lines[index + 1])
    if (title === undefined) continue
    const slug = slugOf(title)
    const times = used.get(slug) ?? 0
    used.set(slug, times + 1)
    anchors.add(times === 0 ? slug : `${slug}-${times}`)
  }
  return anchors
}

function setextTitle(line, next) {
  return line.trim() && !/^\s*(?:[-*+>|#]|\d+\.)/.test(line) && /^ {0,3}(?:=+|-{2,})\s*$/.test(next ?? '')
    ? line.trim()
    : undefined
}

function slugOf(title) {
  return title
    .replace(/!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replace(/<[^>]+>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The same lines with code and comments blanked. Headings keep the words of their code spans. */
function withoutCode(markdown, keepSpans = false) {
  const blank = text => text.replace(/[^\n]/g, ' ')
  const lines = markdown.replace(/\r\n?/g, '\n').split('\n')
  let fence
  const outside = lines.map(line => {
    const mark = /^(?:\s|>|[-*+]\s|\d+[.)]\s)*(`{3,}|~{3,})(.*)$/.exec(line)
    if (fence) {
      if (mark?.[1].startsWith(fence) && mark[2].trim() === '') fence = undefined
      return ''
    }
    if (mark && !(mark[1][0] === '`' && mark[2].includes('`'))) {
      fence = mark[1]
      return ''
    }
    return line
  })
  const text = outside.join('\n').replace(/<!--[\s\S]*?(?:-->|$)/g, blank)
  return keepSpans ? text : text.replace(/(?<!`)(`+)(?!`)((?:(?!\n\n)[\s\S])*?)(?<!`)\1(?!`)/g, blank)
}
