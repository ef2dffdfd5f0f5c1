// The line of a program's standard error that says what went wrong. Programs print stack frames, hints, notes and their
// version after it, so it is seldom the last one.

/** Below a message at the left margin everything that belongs to it is indented: frames, source lines, lists. */
const NOISE = [
  /^$/,
  /^\s/,
  /^[{}[\]()^~|+=*-]+$/,
  /^Node\.js v\d/,
  /^(?:npm (?:error|ERR!)) A complete log of this run/,
  /^(?:npm (?:error|ERR!)) (?:\S+ )?(?:This is related to npm|To see a list|If you are behind a proxy)/,
  /^(?:npm (?:error|ERR!)) (?:code|errno|syscall|path|dest|command|enoent|workspace|location)(?: \S+)?$/,
  /^(?:npm (?:error|ERR!))(?:$|\s{2})/,
  /^npm (?:notice|warn)\b/,
  /^(?:note|help|hint|tip|warning):/i,
  /^(?:stack backtrace:|goroutine \d|exit status \d)/,
  /^\d+ +\|/,
  /^For more information about th/,
  /^error: (?:could not compile|aborting due to)\b/,
  /^Emitted 'error' event\b/,
] as const

/** JavaScript, Java, Go. */
const FRAME = /^\s+at |^\t+\S+\.go:\d/
const NAMED_ERROR = /^(?:Uncaught |Exception in thread "[^"]*" )?[\w.$]*(?:Error|Exception)\b[^:]{0,80}:/
const NPM = /^npm (?:error|ERR!) (?:enoent )?/

/** Of a message of several lines above its stack frames, the first is looked for this far up. */
const MESSAGE_LINES = 40

/** '' if nothing was printed. */
export function lastWordsOf(stderr: string): string {
  const lines = stderr.split(/\r\n|\r|\n/).map(line => line.trimEnd())
  const said = lines.findLastIndex(line => !NOISE.some(noise => noise.test(line)))
  if (said < 0) return lines.findLast(line => line !== '')?.trim() ?? ''
  const from = Math.max(0, said - MESSAGE_LINES)
  const named = lines.slice(from, said + 1).findLastIndex(line => NAMED_ERROR.test(line))
  const hasFrames = lines.slice(said + 1).some(line => FRAME.test(line))
  const at = named >= 0 && hasFrames ? from + named : said
  const line = lines[at]!.replace(NPM, '')
  const more = line.endsWith(':') ? lines.slice(at + 1).find(each => each !== '' && !FRAME.test(each)) : undefined
  return more === undefined ? line : `${line} ${more.trim()}`
}
