// Writes `gates.confirm` into config.yaml, and leaves everything else in it as it stands, comments too. The file is its
// owner's alone then.
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { asParleyError, err, ok, type Result, refuse } from '@parley/core'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import { isMap, parseDocument } from 'yaml'
import { invalidConfig, readSource } from './source.ts'

/**
 * Refuses with `invalid_config` where the file cannot be understood, and `profile_unusable` where it cannot be written.
 */
export function storePassphrase(file: string, hash: string | undefined): Result<void> {
  try {
    const path = existsSync(file) ? realpathSync(file) : file
    const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const source = readSource(text, file)
    if (!source.ok) return err(invalidConfig(source.error))
    const document = parseDocument(text)
    if (hash === undefined) {
      // There is nothing to take out of a file without settings.
      if (!document.hasIn(['gates', 'confirm'])) return ok(undefined)
      document.deleteIn(['gates', 'confirm'])
    } else {
      if (!isMap(document.get('gates'))) document.set('gates', document.createNode({}))
      document.setIn(['gates', 'confirm'], hash)
    }
    const gates = document.get('gates')
    if (isMap(gates) && gates.items.length === 0) document.delete('gates')
    const rest = isMap(document.contents) && document.contents.items.length > 0
    writeWholeSync(machineDisk, path, Buffer.from(rest ? document.toString({ lineWidth: 0 }) : ''))
    return ok(undefined)
  } catch (thrown) {
    const { message } = asParleyError(thrown)
    return refuse('profile_unusable', `${file} cannot be written: ${message}`, {
      details: { file },
      cause: thrown,
    })
  }
}
