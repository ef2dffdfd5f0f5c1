// The intent as text (ALX-SESS-06): `deploy api (engineering)`.
import type { SolveIntentShape } from '@alx/protocol'

export function intentText({ verb, target, domain }: SolveIntentShape): string {
  return `${verb} ${target} (${domain})`
}
