// The table of all commands, in the order in which people are told of them.
import type { Table } from '../args.ts'
import { abort } from './abort.ts'
import { agents } from './agents.ts'
import { approve } from './approve.ts'
import { ask } from './ask.ts'
import { budget } from './budget.ts'
import { call } from './call.ts'
import { cancel } from './cancel.ts'
import { completion } from './completion.ts'
import { config } from './config.ts'
import { doctor } from './doctor.ts'
import { down } from './down.ts'
import { escalations, gates } from './gates.ts'
import { id } from './id.ts'
import { inbox } from './inbox.ts'
import { init } from './init.ts'
import { inject } from './inject.ts'
import { migrate } from './migrate.ts'
import { modify } from './modify.ts'
import { passphrase } from './passphrase.ts'
import { peersAccept } from './peers-accept.ts'
import { peersAdd } from './peers-add.ts'
import { peersAllow } from './peers-allow.ts'
import { peersDismiss } from './peers-dismiss.ts'
import { peersList } from './peers-list.ts'
import { peersPending } from './peers-pending.ts'
import { peersRemove } from './peers-remove.ts'
import { ping } from './ping.ts'
import { reject } from './reject.ts'
import { reply } from './reply.ts'
import { run } from './run.ts'
import { runs } from './runs.ts'
import { salvage } from './salvage.ts'
import { show } from './show.ts'
import { solve } from './solve.ts'
import { resume, suspend } from './suspend.ts'
import { tasks } from './tasks.ts'
import { trailCompact } from './trail-compact.ts'
import { trailExport } from './trail-export.ts'
import { trailFollow } from './trail-follow.ts'
import { trailHeads } from './trail-heads.ts'
import { trailImport } from './trail-import.ts'
import { trailKeys } from './trail-keys.ts'
import { trailProof } from './trail-proof.ts'
import { trailQuery } from './trail-query.ts'
import { trailRestore } from './trail-restore.ts'
import { trailRotateKey } from './trail-rotate-key.ts'
import { trailSnapshot } from './trail-snapshot.ts'
import { trailTiers } from './trail-tiers.ts'
import { trailVerify } from './trail-verify.ts'
import { tree } from './tree.ts'
import { up } from './up.ts'
import { users } from './users.ts'
import { wsBlock } from './ws-block.ts'
import { wsCheckpoint } from './ws-checkpoint.ts'
import { wsInbox } from './ws-inbox.ts'
import { wsStatus } from './ws-status.ts'

export const commandTable: Table = {
  commands: [
    init,
    solve,
    run,
    runs,
    show,
    tree,
    tasks,
    inbox,
    gates,
    escalations,
    approve,
    reject,
    modify,
    reply,
    passphrase,
    inject,
    suspend,
    resume,
    abort,
    migrate,
    salvage,
    budget,
    users,
    trailQuery,
    trailFollow,
    trailVerify,
    trailProof,
    trailExport,
    trailImport,
    trailHeads,
    trailKeys,
    trailRotateKey,
    trailTiers,
    trailCompact,
    trailSnapshot,
    trailRestore,
    id,
    peersList,
    peersAdd,
    peersRemove,
    peersAllow,
    peersPending,
    peersAccept,
    peersDismiss,
    ping,
    ask,
    cancel,
    call,
    agents,
    doctor,
    config,
    up,
    down,
    completion(() => commandTable),
    wsStatus,
    wsInbox,
    wsCheckpoint,
    wsBlock,
  ],
  groups: [
    {
      name: 'trail',
      summary: 'Read, follow, verify, prove, export and import the record; its keys, heads and storage',
    },
    {
      name: 'peers',
      summary: 'Pin agents of other people and machines, and say what each may do here',
      alone: 'peers list',
    },
    { name: 'ws', summary: 'For an agent inside a workspace: checkpoint, status, inbox, block' },
  ],
}
