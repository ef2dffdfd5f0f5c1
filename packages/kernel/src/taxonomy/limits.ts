// Bounds of a taxonomy document. The actions of the richest role such a document can define still fit into one trail
// entry; no text is longer than the trail takes.

export const taxonomyLimits = {
  nameLength: 64,
  descriptionLength: 1024,
  roles: 128,
  envelopeTypes: 128,
  checkpointTypes: 128,
  capabilities: 64,
  /** Rows of one envelope type. */
  permissions: 1024,
  requiredFields: 64,
} as const
