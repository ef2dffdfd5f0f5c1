// /trail: a run as one file, out of this record and into it, and the heads to hold it against later.
import { isAbsolute } from 'node:path'
import { formatTimestamp, refuse, Type } from '@parley/core'
import { fingerprint, isPublicKey } from '@parley/keys'
import { EXPORT_CONTENTS, withFile } from '@parley/trail'
import { nodeLimits } from '../../limits.ts'
import { object } from '../../object.ts'
import type { OperationDeps } from '../deps.ts'
import {
  answered,
  answerOf,
  Count,
  FOUND,
  findRun,
  mutation,
  Nothing,
  RunText,
  streamed,
  subscription,
  text,
  told,
  UNREADABLE,
} from '../spec.ts'

const PublicKey = Type.String({ minLength: 44, maxLength: 44 })

/** Where the chain of a run ends, or ended when somebody kept it. */
export const Head = { seq: Type.Integer({ minimum: 1 }), hash: Type.String({ pattern: '^[0-9a-f]{64}$' }) }
export const RunHeadSchema = object({ run: text(64), ...Head })

export function trailFileService(deps: OperationDeps) {
  const { trail, clock, config } = deps
  const { trustedKeys } = config.values
  return {
    '/trail/pack': subscription({
      description:
        'A run as one file (parley-run/1), in pieces: entries with their signatures, content, head and keys, to be verified anywhere.',
      input: object({
        run: RunText,
        content: Type.Optional(
          Type.Enum([...EXPORT_CONTENTS], {
            description: 'As it is stored (default), opened where it is sealed, or left out',
          }),
        ),
        up_to: Type.Optional(Type.Integer({ minimum: 1, description: 'The last entry; the newest by default' })),
      }),
      output: object({ run: Type.String(), data: Type.String({ description: 'The next bytes of the file, base64' }) }),
      refuses: [...FOUND, ...UNREADABLE],
      async *handle({ run: text, content, up_to }, { signal }) {
        const run = await findRun(text, deps)
        const at = formatTimestamp(clock.now())
        const options = { at, ...(content && { content }), ...(up_to !== undefined && { upTo: up_to }) }
        for await (const bytes of streamed(await answerOf(trail.export(run, options)))) {
          for (let from = 0; from < bytes.length; from += nodeLimits.pieceBytes) {
            if (signal.aborted) return
            yield {
              run,
              data: bytes.toString('base64', from, Math.min(bytes.length, from + nodeLimits.pieceBytes)),
            }
          }
        }
      },
    }),
    '/trail/import': mutation({
      description:
        'Takes in an exported run, all of it or nothing, once it is verified against a key that is trusted. It can be read and verified; it is never resumed.',
      input: object({
        file: text(nodeLimits.pathLength, 'An absolute path'),
        keys: Type.Optional(
          Type.Array(PublicKey, {
            maxItems: nodeLimits.trustedKeys,
            description: 'Trusted beside the keys of this profile and those in its configuration',
          }),
        ),
      }),
      output: object({
        run: Type.String(),
        entries: Count,
        objects: Count,
        ended: Type.Boolean(),
        content: Type.Enum([...EXPORT_CONTENTS]),
        from: Type.String({ description: 'The fingerprint of the key that has sealed the file' }),
        /** It was here before, just so; nothing has changed. */
        already: Type.Boolean(),
      }),
      refuses: [
        'invalid_argument',
        'file_not_found',
        'file_unreadable',
        'not_an_export',
        'export_version',
        'export_unreadable',
        'export_damaged',
        'export_untrusted',
        'import_running',
        'import_unfinished',
        'run_exists',
        'trail_unavailable',
        'trail_full',
      ],
      handle: async ({ file, keys = [] }) => {
        if (!isAbsolute(file)) answered(refuse('invalid_argument', `${file} is no absolute path.`))
        const wrong = keys.find(key => !isPublicKey(key))
        if (wrong !== undefined) answered(refuse('invalid_argument', `${wrong} is not a public key.`))
        const trusted = [...keys, ...trustedKeys, ...trail.keys.map(({ key }) => key)]
        const at = formatTimestamp(clock.now())
        const read = withFile(file, source => trail.import(source, { keys: trusted, at }))
        const { report, already } = await answerOf(read)
        const { run, entries, objects, ended, content, sealed_by } = report
        return { run, entries, objects, ended, content, from: fingerprint(sealed_by!), already }
      },
    }),
    '/trail/heads': subscription({
      description:
        'The newest entry of every run, in pages. Kept elsewhere, they tell later whether the record has lost anything.',
      input: Nothing,
      output: object({ heads: Type.Array(RunHeadSchema) }),
      refuses: ['trail_unavailable'],
      async *handle() {
        const runs = await told(trail.runs())
        const heads = runs.map(({ run, seq, hash }) => ({ run, seq, hash }))
        for (let from = 0; from < heads.length; from += nodeLimits.pageEntries)
          yield { heads: heads.slice(from, from + nodeLimits.pageEntries) }
      },
    }),
  }
}
