// Request ids (CALL-EVT-08): UUID v4, from the platform's cryptographic random source. Counters would collide: both
// ends of a link make ids.

export function randomUUID(): string {
  return crypto.randomUUID()
}
