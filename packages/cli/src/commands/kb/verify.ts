// `parley kb verify`: computes hashes again, of a registered block or of a file. A file needs no node and no network.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { Failure } from '../../failure.ts'
import { print } from '../../output.ts'
import { plural } from '../../render/format.ts'
import { oneLine } from '../../render/text.ts'

const HASH = /^(?:0x)[0-9a-f]{4,64}$/i

export default command({
  about:
    'A block is what its hash says. A file is one that `parley kb export` wrote, or one block as JSON; it is verified here, without a node. The exit code is 1 if something is wrong.',
  args: [{ name: 'FILE', summary: 'A file, or the hash of a registered block (0x…)', complete: 'file' }],
  examples: [
    ['parley kb verify backup.kb.json', 'a file that somebody sent you'],
    ['parley kb verify 0x25cde9b3', 'a block of this profile'],
  ],
  async run(context, { words }) {
    const meant = words[0]!
    if (HASH.test(meant)) {
      const verified = await context.api.knowledge.verify({ block: meant })
      const { valid, kbHash, computed } = verified
      print(context, verified, () => [
        valid ? `${kbHash} verifies.` : `${kbHash} is not as it was registered: its hash is ${computed}.`,
      ])
      return valid ? EXIT.done : EXIT.failed
    }
    const { verifyBlockFile } = await import('@parley/node/kb')
    const checked = verifyBlockFile(textOf(resolve(context.cwd, meant), meant))
    if (!checked.ok) {
      print(context, { valid: false, message: checked.error.message }, () => [checked.error.message])
      return EXIT.failed
    }
    const { kind, blocks } = checked.value
    print(context, { valid: true, kind, blocks }, () => [
      ...blocks.map(({ kbHash, type, domain }) => `${kbHash} ${oneLine(type)} in ${oneLine(domain)}`),
      kind === 'export'
        ? `${plural(blocks.length, 'block')}: every hash and every source verifies.`
        : 'The block verifies; its sources are not in the file.',
    ])
    return EXIT.done
  },
})

function textOf(file: string, meant: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    throw new Failure('file_not_found', `${meant} cannot be read (${code}).`, {
      next: 'Name a file, or a hash that begins with 0x.',
    })
  }
}
