// Nothing secret goes into a log: values under telling names are dropped before a line is made, and what looks like a
// credential is taken out of the finished line, since it may stand in a message or in somebody's output.
export const REDACTED = '[redacted]'

const telling =
  /^(?:.*[_-])?(?:token|auth|authorization|secret|password|passphrase|credentials?|cookie|api_?key|private_?key|environment|env)$/i

/** Whether values under this name are kept out of logs and listings. `authToken` and `auth_token` are one name. */
export function isSecretName(name: string): boolean {
  return telling.test(name.replace(/([a-z0-9])([A-Z])/g, '$1_$2'))
}

/** A copy without values under telling names; errors become what may leave the process. Cycles and depth are cut. */
export function withoutSecrets(value: unknown, levels = 8): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return '…'
  if (value instanceof Error) return describeError(value, levels)
  if (Array.isArray(value)) return value.map(each => withoutSecrets(each, levels - 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      isSecretName(name) ? REDACTED : withoutSecrets(each, levels - 1),
    ]),
  )
}

function describeError(error: Error, levels: number): unknown {
  const { code, details } = error as { readonly code?: unknown; readonly details?: unknown }
  return {
    name: error.name,
    message: error.message,
    ...(code !== undefined && { code }),
    ...(details !== undefined && { details: withoutSecrets(details, levels - 1) }),
    ...(error.stack !== undefined && { stack: error.stack }),
    ...(error.cause !== undefined && { cause: withoutSecrets(error.cause, levels - 1) }),
  }
}

/** Each keeps what tells whose credential it was. */
const credentials: readonly (readonly [RegExp, string])[] = [
  // A turn's token: run, workspace and epoch are no secret, the rest is.
  [/\b(pws\.[\w-]{1,80}\.[\w-]{1,80}\.\d{1,9}\.)[\w-]+/g, `$1${REDACTED}`],
  // A token of the HTTP surface: its id is no secret.
  [/\b(parley_[a-z2-7]{12}_)[\w-]{8,}/g, `$1${REDACTED}`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/\b(sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza)[\w-]{8,}/g, `$1${REDACTED}`],
  [/\b((?:[A-Z0-9]+_)*(?:TOKEN|SECRET|PASSWORD|API_KEY))=[^\s"',;]+/g, `$1=${REDACTED}`],
  [/-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g, `[$1 ${REDACTED}]`],
]

export function scrub(line: string): string {
  let text = line
  for (const [form, instead] of credentials) text = text.replace(form, instead)
  return text
}
