// The taxonomy `parley/1` (DESIGN, Runs): what people ask of a profile's library and what is made of it. The registry
// of events is closed, so each kind of record is a type of envelope, of a request, and of checkpoint, of a result.
import { LIBRARY_RECORDS } from '@parley/core'
import { PROTOCOL_VERSION, type Taxonomy } from './document.ts'

/** Who makes the library's checkpoints. No user can have this name in a library run. */
export const LIBRARY_ROLE = 'library_worker'

export const parleyTaxonomy: Taxonomy = {
  id: 'parley/1',
  version: '1',
  protocol_version: PROTOCOL_VERSION,
  roles: [
    {
      name: LIBRARY_ROLE,
      extends: 'worker',
      add: LIBRARY_RECORDS.map(target => ({ action: 'create', target })),
      // What people ask goes to the root: the worker takes no mail, and begins without any.
      remove: ['directive', 'feedback'].map(type => ({ action: 'receive', target: { type, role: 'coordinator' } })),
    },
  ],
  envelope_types: LIBRARY_RECORDS.map(name => ({
    name,
    description: `A person asks for a record '${name}'`,
    permissions: [{ sender_role: LIBRARY_ROLE, receiver_role: 'coordinator' }],
  })),
  checkpoint_types: LIBRARY_RECORDS.map(name => ({
    name,
    description: `A record '${name}' of the library`,
    permitted_roles: [LIBRARY_ROLE],
    required_fields: ['by', 'content'],
  })),
}
