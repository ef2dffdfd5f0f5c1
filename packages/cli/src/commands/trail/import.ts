// `parley trail import`: imports a run that somebody else exported into the record of this profile.
import { resolve } from 'node:path'
import { command } from '../../command.ts'
import { SLOW } from '../../limits.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'
import { KEY_FLAGS, keysOf } from './trusted-keys.ts'

export default command({
  about:
    'The file is first verified against a key that you give with --key or that the profile trusts (its own keys, and `trusted_keys` in config.yaml). It is imported completely or not at all. The run can then be shown, queried, verified and exported like any other; it is marked as imported, never continues here, and nothing is added to it.',
  args: [{ name: 'FILE', summary: 'A file that `parley trail export` wrote', complete: 'file' }],
  flags: { ...KEY_FLAGS },
  examples: [
    ['parley trail import run.parley --key-file mira.pub', 'from someone whose public key you have'],
    ['parley trail import run.parley', 'if the profile already trusts its author'],
  ],
  async run(context, { flags, words }) {
    const keys = await keysOf(flags, context.cwd)
    const imported = await context.api.trail.import({ file: resolve(context.cwd, words[0]!), keys }, SLOW)
    const { run, entries, objects, content, ended, from, already } = imported
    const held = content === 'none' ? 'without content' : `with ${plural(objects, 'object')}`
    print(context, imported, () => [
      already
        ? `${run} was already imported and is identical; nothing was changed.`
        : `${run} is imported: ${plural(entries, 'entry', 'entries')} ${held}, ${ended ? 'finished' : 'not finished when it was exported'}.`,
      `from  ${from}`,
      `look  parley show ${run}`,
    ])
  },
})
