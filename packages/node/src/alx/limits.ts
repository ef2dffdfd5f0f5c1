// Every bound of the wiring of ALX, by name, and what holds where nobody says otherwise. Those of ALX itself are in
// @parley/alx and @alx/protocol.
export const alxLimits = {
  /** Domains of one configuration, and characters of a domain's name. */
  domains: 256,
  domainLength: 128,
  /** Milliseconds of a day. */
  day: 86_400_000,
  /** Blocks and sessions on one page of a list, and characters of a search. */
  listed: 200,
  searchLength: 400,
  /** Characters of a file with Knowledge Blocks: those of twice the export that is written. */
  fileCharacters: 64 * 1024 * 1024,
  /** Characters of a page's cursor. */
  cursorLength: 512,
  /** Users whose sessions one list shows. */
  users: 10_000,
} as const

export const alxDefaults = {
  minConfidence: 0.35,
  runLimitMs: 120_000,
  eventsMs: 300_000,
  abandonMs: 86_400_000,
  approvalMs: 86_400_000,
  feeBps: 200,
  contract: `0x${'0'.repeat(40)}`,
} as const
