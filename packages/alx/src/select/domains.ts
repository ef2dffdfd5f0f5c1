// How near a block's domain is to that of an intent: domains are dotted, and a part scopes what is below it.

/** 1 for the same, 0.5 where one is inside the other, 0 for a stranger. */
export function domainNearness(one: string, other: string): 0 | 0.5 | 1 {
  const [a, b] = [plainDomain(one), plainDomain(other)]
  if (a === b) return 1
  return a.startsWith(`${b}.`) || b.startsWith(`${a}.`) ? 0.5 : 0
}

export function plainDomain(domain: string): string {
  return domain.trim().toLowerCase()
}

/** `a.b.c`, `a.b`, `a`. */
export function enclosingDomains(domain: string): readonly string[] {
  const parts = plainDomain(domain).split('.')
  return parts.map((_, at) => parts.slice(0, parts.length - at).join('.'))
}
