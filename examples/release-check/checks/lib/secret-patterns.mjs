// What a secret looks like in one line of text. Each kind has a literal that must be there before its expression is
// tried, and where the form alone says little the text must also look random. What is found is for comparing only: it
// is never printed.

/**
 * `hint`: source of a cheap expression that must match first. `find`: group 1 is the secret, or all of it where there
 * is none. `bits`: entropy per character that the secret must have. `sure`: the form alone says what it is; the others
 * are remarks.
 */
const kinds = [
  {
    kind: 'AWS access key id',
    hint: 'A[KS]IA|ABIA|ACCA',
    find: /\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\b/g,
    bits: 3,
    sure: true,
  },
  {
    kind: 'AWS secret access key',
    hint: '[Aa][Ww][Ss]',
    find: /aws\w{0,20}(?:secret|key)\w{0,20}["']?\s*(?:=|:|=>)\s*["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
    bits: 4,
    sure: true,
  },
  {
    kind: 'GitHub token',
    hint: 'gh[pousr]_',
    find: /\b(gh[pousr]_[A-Za-z0-9]{36,251})\b/g,
    bits: 3.5,
    sure: true,
  },
  {
    kind: 'GitHub token',
    hint: 'github_pat_',
    find: /\b(github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b/g,
    bits: 3.5,
    sure: true,
  },
  {
    kind: 'GitLab token',
    hint: 'gl(?:pat|ptt|dt|rt|cbt|soat)-',
    find: /\b(gl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,64})/g,
    bits: 3.5,
    sure: true,
  },
  { kind: 'npm token', hint: 'npm_', find: /\b(npm_[A-Za-z0-9]{36})\b/g, bits: 3.5, sure: true },
  {
    kind: 'npm token',
    hint: '_authToken|_password|_auth',
    find: /:_(?:authToken|password|auth)\s*=\s*["']?([^\s"'$]{16,})/g,
    bits: 3.3,
    sure: true,
  },
  { kind: 'PyPI token', hint: 'pypi-', find: /\b(pypi-AgE[\w-]{50,})/g, bits: 3.5, sure: true },
  {
    kind: 'Anthropic key',
    hint: 'sk-ant-',
    find: /\b(sk-ant-[a-z]{3,8}\d\d-[\w-]{60,})/g,
    bits: 4,
    sure: true,
  },
  {
    kind: 'OpenAI key',
    hint: 'sk-',
    find: /\b(sk-(?:(?:proj|svcacct|admin)-[\w-]{40,}|[A-Za-z0-9]{48}))(?![\w-])/g,
    bits: 4,
    sure: true,
  },
  { kind: 'OpenRouter key', hint: 'sk-or-', find: /\b(sk-or-v1-[a-f0-9]{64})\b/g, bits: 3, sure: true },
  { kind: 'Hugging Face token', hint: 'hf_', find: /\b(hf_[A-Za-z0-9]{34,40})\b/g, bits: 3.7, sure: true },
  { kind: 'Google API key', hint: 'AIza', find: /\b(AIza[\w-]{35})(?![\w-])/g, bits: 3.5, sure: true },
  {
    kind: 'Google OAuth secret',
    hint: 'GOCSPX-',
    find: /\b(GOCSPX-[\w-]{28})(?![\w-])/g,
    bits: 3.5,
    sure: true,
  },
  {
    kind: 'Slack token',
    hint: 'xox',
    find: /\b(xox[abeoprs]-(?:\d+-)*[A-Za-z0-9-]{20,})/g,
    bits: 3,
    sure: true,
  },
  {
    kind: 'Slack webhook',
    hint: 'hooks\\.slack\\.com',
    find: /hooks\.slack\.com\/(?:services|workflows)\/([A-Za-z0-9/]{40,})/g,
    bits: 3.5,
    sure: true,
  },
  {
    kind: 'Discord webhook',
    hint: 'discord(?:app)?\\.com',
    find: /discord(?:app)?\.com\/api\/webhooks\/(\d{17,20}\/[\w-]{60,})/g,
    bits: 4,
    sure: true,
  },
  {
    kind: 'Telegram bot token',
    hint: ':AA',
    find: /\b(\d{8,10}:AA[\w-]{33})(?![\w-])/g,
    bits: 4,
    sure: true,
  },
  {
    kind: 'Stripe live key',
    hint: '[rs]k_live_',
    find: /\b([rs]k_live_[A-Za-z0-9]{20,247})\b/g,
    bits: 3.5,
    sure: true,
  },
  {
    kind: 'Shopify token',
    hint: 'shp',
    find: /\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b/g,
    bits: 3,
    sure: true,
  },
  {
    kind: 'SendGrid key',
    hint: 'SG\\.',
    find: /\b(SG\.[\w-]{22}\.[\w-]{43})(?![\w-])/g,
    bits: 4,
    sure: true,
  },
  {
    kind: 'DigitalOcean token',
    hint: 'do[opr]_v1_',
    find: /\b(do[opr]_v1_[a-f0-9]{64})\b/g,
    bits: 3,
    sure: true,
  },
  {
    kind: 'Azure storage key',
    hint: 'AccountKey',
    find: /AccountKey=([A-Za-z0-9+/]{86}==)/g,
    bits: 4.5,
    sure: true,
  },
  { kind: 'Vault token', hint: 'hv[sb]\\.', find: /\b(hv[sb]\.[\w-]{24,})/g, bits: 4, sure: true },
  { kind: 'Databricks token', hint: 'dapi', find: /\b(dapi[a-f0-9]{32})\b/g, bits: 3, sure: true },
  {
    kind: 'Grafana token',
    hint: 'glsa_',
    find: /\b(glsa_[A-Za-z0-9]{32}_[a-f0-9]{8})\b/g,
    bits: 3.5,
    sure: true,
  },
  { kind: 'Atlassian token', hint: 'ATATT3', find: /\b(ATATT3[\w=-]{100,})/g, bits: 4, sure: true },
  { kind: 'Linear key', hint: 'lin_api_', find: /\b(lin_api_[A-Za-z0-9]{40})\b/g, bits: 3.5, sure: true },
  {
    kind: 'age secret key',
    hint: 'AGE-SECRET-KEY-1',
    find: /\b(AGE-SECRET-KEY-1[A-Z0-9]{58})\b/g,
    bits: 3.5,
    sure: true,
  },
  { kind: 'signed token (JWT)', hint: 'eyJ', find: /\b(eyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,})/g, bits: 4 },
  {
    kind: 'password in a URL',
    hint: '://',
    find: /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/'"`]{1,64}:([^\s:@/'"`]{6,128})@(?!localhost\b|127\.|\[::1|example\.|[\w-]+\.example\b)[\w[]/gi,
    bits: 2.5,
  },
  {
    kind: 'value that looks like a key or password',
    hint: '[Ss][Ee][Cc][Rr][Ee][Tt]|[Tt][Oo][Kk][Ee][Nn]|[Kk][Ee][Yy]|[Pp][Aa][Ss][Ss][Ww]|[Cc]redential',
    find: /(?:secret|token|api_?-?key|access_?-?key|private_?-?key|passw(?:or)?d|credentials?)\w{0,20}["']?\s*(?:=|:|=>|:=)\s*["'`]([^\s"'`]{16,128})["'`]/gi,
    bits: 3.5,
    loose: true,
  },
  {
    kind: 'value that looks like a key or password',
    hint: '(?:SECRET|TOKEN|KEY|PASSWORD|PASSWD)\\w*=',
    find: /^\s*(?:export\s+)?[A-Z0-9_]*(?:SECRET|TOKEN|KEY|PASSWORD|PASSWD)[A-Z0-9_]*=([^\s"'`]{16,128})\s*$/g,
    bits: 3.5,
    loose: true,
  },
]

/** One look tells whether a line can hold anything at all: most lines cannot. */
const anyHint = new RegExp(kinds.map(({ hint }) => hint).join('|'))
const byHint = kinds.map(each => ({ ...each, hint: new RegExp(each.hint) }))

/** What people write where a secret would be. */
const placeholder =
  /example|sample|dummy|fake|placeholder|change.?me|your|redacted|replace|insert|x{4}|\*{3}|\.{3}|[<>]|\$[{(]|\{\{|%[({]|process\.env|12345|23456|34567|abcdef|secret|password|(.)\1{5}/i

/** A line that says itself that it is no secret. The other two marks belong to tools that people may use already. */
const allowed = /release-check:allow|gitleaks:allow|pragma: allowlist secret/

/** The secrets in one line: [{ kind, secret, sure }]. */
export function secretsIn(line) {
  if (!anyHint.test(line) || allowed.test(line)) return []
  const found = []
  for (const { kind, hint, find, bits, sure = false, loose = false } of byHint) {
    if (!hint.test(line)) continue
    for (const match of line.matchAll(find)) {
      const secret = match[1] ?? match[0]
      if (entropy(secret) < bits || placeholder.test(secret) || (loose && !looksRandom(secret))) continue
      if (!found.some(each => each.secret.includes(secret))) found.push({ kind, secret, sure })
    }
  }
  return found
}

/** Bits per character, by how often each one occurs. */
export function entropy(text) {
  const counts = new Map()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

/** Names and paths are words; in a random text digits and letters alternate. */
function looksRandom(text) {
  if (/^[a-z]+:\/\/|^[./~@$#]|[(){}[\]<>;,]|^sha\d+[-:]/i.test(text)) return false
  return (text.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) >= 3
}

export const KEY_BEGIN = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----/
/** A line, or part of one, of the body of a private key in PEM form. */
export const KEY_BODY = /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}={0,2}/

/** Text without its secrets, for everything that is printed or written. */
export function redact(text) {
  const lines = text
    .replace(/(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----)[\s\S]*?(?=-----END|$)/g, '$1 [removed] ')
    .split('\n')
  return lines
    .map(line =>
      secretsIn(line).reduce((clean, { kind, secret }) => clean.replaceAll(secret, `[${kind} removed]`), line),
    )
    .join('\n')
}
