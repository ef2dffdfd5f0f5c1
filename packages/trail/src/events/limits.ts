// Bounds of event bodies, in characters. A body names things and never carries them (W-TRAIL-32), so the bounds are far
// above what a runtime writes; operations that take such text from outside refuse longer ones themselves.
export const bodyLimits = {
  /** `user_id` comes from the authentication boundary and may be a URI or a fingerprint. */
  userIdLength: 256,
  /** Role, envelope type, checkpoint type, group, capability and other names of open sets. */
  nameLength: 256,
  taskNameLength: 1024,
  /** Reasons, conditions, descriptions of a conflict. */
  textLength: 8192,
  /** Paths and other references to resources. */
  resourceLength: 4096,
  /** Composite subject ids of gates, such as `workspace_id:reason` (W-HWY-04). */
  subjectIdLength: 512,
  /** Hashes, proofs and signatures as text. */
  digestLength: 512,
  listItems: 4096,
} as const
