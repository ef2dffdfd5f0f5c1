// The reference vocabulary of W-TAX-10: three derived roles with the types they need. An application loads it as it is
// or copies from it; the runtime preloads nothing.
import { PROTOCOL_VERSION, type Taxonomy } from './document.ts'

export const referenceTaxonomy: Taxonomy = {
  id: 'wacp-reference',
  version: '0.1.0',
  protocol_version: PROTOCOL_VERSION,
  roles: [
    {
      name: 'reviewer',
      extends: 'worker',
      add: [
        { action: 'send', target: { type: 'report', role: 'coordinator' } },
        { action: 'read', target: 'assigned_workspace' },
      ],
      remove: [
        { action: 'send', target: { type: 'query', role: 'coordinator' } },
        { action: 'create', target: 'artifact' },
      ],
      override: { checkpoint_types: ['review'] },
    },
    {
      name: 'senior_worker',
      extends: 'worker',
      add: [{ action: 'read', target: 'peer_workspace' }],
      remove: [],
      override: { checkpoint_types: ['artifact', 'decision'] },
    },
    {
      name: 'auditor',
      extends: 'observer',
      add: [{ action: 'read', target: 'designated_group' }],
      remove: [],
      override: { checkpoint_types: ['observation', 'audit_finding'] },
    },
  ],
  envelope_types: [
    {
      name: 'report',
      description: 'The result of a review',
      permissions: [{ sender_role: 'reviewer', receiver_role: 'coordinator' }],
    },
  ],
  checkpoint_types: [
    { name: 'review', description: 'A review of the work of others', permitted_roles: ['reviewer'] },
    { name: 'decision', description: 'A decision and its grounds', permitted_roles: ['senior_worker'] },
    { name: 'audit_finding', description: 'What an audit found', permitted_roles: ['auditor'] },
  ],
}
