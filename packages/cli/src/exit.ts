// Exit codes: stable, documented in docs/guide/getting-started.md.
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  refused: 5,
  invalidFile: 6,
  heldUp: 7,
  defect: 70,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** For the help and the guide. */
export const EXIT_MEANINGS: readonly (readonly [ExitCode, string])[] = [
  [EXIT.done, 'done'],
  [
    EXIT.failed,
    "the run failed, was rejected or was aborted; a peer's turn failed; `verify` or `doctor` found a problem",
  ],
  [EXIT.usage, 'wrong usage'],
  [EXIT.notFound, 'not found, or more than one match'],
  [EXIT.unreachable, 'the node or the peer cannot be reached'],
  [EXIT.refused, 'refused: permission, invalid state, or nobody to ask'],
  [EXIT.invalidFile, 'the team file or the configuration is not valid'],
  [EXIT.heldUp, 'the machine is holding up the node: a full or read-only disk; it continues automatically'],
  [EXIT.defect, 'a defect in Parley'],
  [EXIT.interrupted, "interrupted; a run that was followed continues, and a peer's turn is cancelled"],
]

/** Error codes of Parley and of the call protocol. Any other code is a refusal of the node. */
const BY_CODE: Readonly<Record<string, ExitCode>> = {
  usage: EXIT.usage,
  invalid_argument: EXIT.usage,
  invalid_query: EXIT.usage,
  invalid_profile: EXIT.usage,
  INVALID_INPUT: EXIT.usage,
  PAYLOAD_TOO_LARGE: EXIT.usage,
  not_found: EXIT.notFound,
  NOT_FOUND: EXIT.notFound,
  file_not_found: EXIT.notFound,
  ambiguous: EXIT.notFound,
  node_unreachable: EXIT.unreachable,
  socket_untrusted: EXIT.unreachable,
  node_unproven: EXIT.unreachable,
  node_not_running: EXIT.unreachable,
  node_start_failed: EXIT.unreachable,
  version_mismatch: EXIT.unreachable,
  connection_lost: EXIT.unreachable,
  UNAVAILABLE: EXIT.unreachable,
  TIMEOUT: EXIT.unreachable,
  unknown_peer: EXIT.notFound,
  unknown_token: EXIT.notFound,
  invalid_peer: EXIT.usage,
  bad_invitation: EXIT.usage,
  link_bad_address: EXIT.usage,
  link_too_large: EXIT.usage,
  'target-offline': EXIT.unreachable,
  link_timeout: EXIT.unreachable,
  link_empty_response: EXIT.unreachable,
  link_handshake_failed: EXIT.unreachable,
  link_handshake_timeout: EXIT.unreachable,
  link_bad_response: EXIT.failed,
  link_cancelled: EXIT.interrupted,
  peers_unreadable: EXIT.invalidFile,
  invalid_team: EXIT.invalidFile,
  invalid_config: EXIT.invalidFile,
  not_an_export: EXIT.failed,
  export_version: EXIT.failed,
  export_unreadable: EXIT.failed,
  export_damaged: EXIT.failed,
  interrupted: EXIT.interrupted,
  ABORTED: EXIT.interrupted,
  machine_fault: EXIT.heldUp,
  internal: EXIT.defect,
  INTERNAL: EXIT.defect,
  INVALID_OPERATION_TYPE: EXIT.defect,
}

export function exitCodeOf(code: string): ExitCode {
  return BY_CODE[code] ?? EXIT.refused
}
