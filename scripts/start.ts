// `npm start`: the main job on a real repository, with no key and no network. A team of command agents checks whether
// it is fit to be released (examples/release-check), live on the terminal; then its verdict, and what to try next. npm
// start [-- PROJECT]
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { connectNode, type NodeConnection } from '@parley/node/commands'
import { bundled, makeCurrent } from '@parley/node/testing'

// A node that is started for this has nothing to do with other machines, whatever the profile says (ALP-TCP-01).
process.env.ALPI_NETWORK_HOST ??= '127.0.0.1'

const repository = join(import.meta.dirname, '..')
const { positionals, help } = commandLine()
if (help) {
  console.log('usage: npm start [-- PROJECT]\n')
  console.log('Checks whether a repository is fit to be released: this one, or PROJECT. With no key and no network.')
  process.exit(0)
}
// npm starts scripts in the repository; what a person types is relative to where they are.
const project = positionals[0] === undefined ? repository : resolve(process.env.INIT_CWD ?? '.', positionals[0])
const teamFile = join(repository, 'examples', 'release-check', 'parley.yaml')

const colour = process.stdout.isTTY && !process.env.NO_COLOR
const bold = (text: string) => (colour ? `\u001b[1m${text}\u001b[0m` : text)

console.log(bold(`Is ${project} fit to be released?`))
console.log('Six agents check it, four at a time; a seventh writes the report. This takes about half a minute.\n')

// What `bin/parley` will run, too.
const bundle = await bundled()
makeCurrent(bundle.folder)

/** What was typed behind `npm start --`; what cannot be meant ends with the usage. */
function commandLine(): { readonly positionals: readonly string[]; readonly help: boolean } {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const
    const { positionals, values } = parseArgs({ allowPositionals: true, options })
    return { positionals, help: values.help ?? false }
  } catch (thrown) {
    console.error(`${(thrown as Error).message.split('.')[0]}.\nusage: npm start [-- PROJECT]`)
    process.exit(2)
  }
}

/** The command itself, as a person would type it. */
function parley(...args: string[]): number {
  const command = ['--disable-warning=ExperimentalWarning', bundle.parley, ...args]
  return spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1
}

/** The node that runs, if there is one. */
async function connect(): Promise<NodeConnection | undefined> {
  const connected = await connectNode()
  return connected.ok ? connected.value : undefined
}

async function tell({ client, paths }: NodeConnection): Promise<void> {
  const view = (await client.invoke('runs', 'show', { run: 'last' })).unwrap()
  const verified = (await client.invoke('trail', 'verify', { run: view.run })).unwrap()
  const place = view.result?.folder ?? `branch ${view.result?.branch} of ${project}`
  console.log(bold('\nWhere it is'))
  // Each path begins a line, so that a narrow terminal does not break it.
  console.log(`  result   RELEASE-REPORT.md and release-report/, in\n           ${place}`)
  console.log(
    `  record   ${verified.sound ? 'verified, sound' : 'NOT sound'}, in\n           ${join(paths.folder, 'trail')}`,
  )
  console.log(bold('\nWhat to try next'))
  console.log('  bin/parley show          what each agent did, how long it took, what it changed')
  console.log('  bin/parley trail query   every entry of the record')
  console.log('  npm start -- PATH        the same for a repository of yours')
  console.log('  bin/parley help          everything else; docs/guide has more')
}

const before = await connect()
before?.client.close()
const status = parley('run', teamFile, '--yes', '--project', project)
const now = await connect()
if (now) {
  if (status === 0) await tell(now)
  // Whoever had a node running before keeps it.
  if (!before) await now.client.invoke('node', 'stop', {})
  now.client.close()
}
process.exitCode = status
