// `parley trail import`: a run that somebody else has exported, into the record of this profile.
import { resolve } from 'node:path'
import { command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { print } from '../output.ts'
import { plural } from '../render/format.ts'
import { KEY_FLAGS, keysOf } from './trusted-keys.ts'

export const trailImport = command({
  name: 'trail import',
  summary: 'Take in a run that was exported elsewhere, once it is verified',
  about:
    'The file is verified first, against a key that you give with --key or that the profile trusts (its own keys, and `trusted_keys` in config.yaml). All of it is taken in or nothing. The run can then be shown, queried, verified and exported like any other; it is marked as imported, never goes on here, and nothing is added to it.',
  args: [{ name: 'FILE', summary: 'A file that `parley trail export` wrote', complete: 'file' }],
  flags: { ...KEY_FLAGS },
  examples: [
    ['parley trail import run.parley --key-file mira.pub', 'from somebody whose public key you have'],
    ['parley trail import run.parley', 'where the profile trusts whoever made it'],
  ],
  async run(context, { flags, words }) {
    const keys = await keysOf(flags, context.cwd)
    const api = await context.connect()
    const imported = await api.importTrail(resolve(context.cwd, words[0]!), keys)
    const { run, entries, objects, content, ended, from, already } = imported
    const held = content === 'none' ? 'without content' : `with ${plural(objects, 'object')}`
    print(context, imported, () => [
      already
        ? `${run} is here already, just as in the file; nothing was changed.`
        : `${run} is imported: ${plural(entries, 'entry', 'entries')} ${held}, ${ended ? 'finished' : 'not finished when it was exported'}.`,
      `from  ${from}`,
      `look  parley show ${run}`,
    ])
    return EXIT.done
  },
})
