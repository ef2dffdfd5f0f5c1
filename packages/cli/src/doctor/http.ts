// The check of the HTTP surface: where it listens, or why it does not. Nothing is said where it is switched off.
import { plural } from '../render/format.ts'
import { oneLine } from '../render/text.ts'
import { type Finding, ok, problem, RESTART, warning } from './check.ts'
import type { Scene } from './node.ts'

const CHECK = 'http'

export function http({ config, running }: Scene): readonly Finding[] {
  if (!config.ok) return []
  const wanted = config.value.values.httpOn
  const { status } = running
  if (!status) return wanted ? [ok(CHECK, 'on; no node is running that would open it')] : []
  const { http } = status
  if (!http) return wanted ? [warning(CHECK, 'on in the configuration, but not in the running node', RESTART)] : []
  if (http.problem)
    return [
      problem(
        CHECK,
        oneLine(http.problem.message),
        `Fix it (http in config.yaml; docs/guide/http.md says what each setting is). ${RESTART}`,
      ),
    ]
  return [ok(CHECK, `listens on ${oneLine(http.at ?? '')}; ${plural(http.requests, 'request')} in progress`)]
}
