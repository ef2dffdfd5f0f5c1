// Parley's server, in a process of its own: a node with its HTTP surface and ALX on it, made ready to be asked. What it
// needs is a folder, which becomes the home of its profile.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { type Node, runNode } from '@parley/node'
import { connectNode } from '@parley/node/commands'
import { EVENT_STEPS } from './events.ts'
import { exchange } from './http-client.ts'
import { serveCommands, tell } from './serving.ts'
import { DOMAINS, INTENT, registration, solveRequest } from './solve.ts'

const [home = ''] = process.argv.slice(2)
/** Blocks of the domain without a team beside the one that answers the intent. */
const OTHER_BLOCKS = 100
/** Not the owner, and with no right in the directory. */
const USER = 'bench'
/** What the requests need; `kb` registers the blocks. */
const SCOPES = ['solve', 'read', 'kb'] as const

const team = (name: string, called: string, plan = '') =>
  `version: 1\nname: ${name}\napproval: none\nagents:\n  a: { function: ${called} }\n${plan}`

/** One task after the other, so that each step ends by itself. */
const steps = Array.from({ length: EVENT_STEPS }, (_, index) => {
  const needs = index === 0 ? '' : `, needs: [step-${index - 1}]`
  return `  - { id: step-${index}, agent: a, prompt: Wait.${needs} }\n`
})

const TEAMS = {
  agent: team('nothing', 'nothing'),
  events: team('one-by-one', 'whenTold', `plan:\n${steps.join('')}`),
} as const

const fileOf = (name: keyof typeof TEAMS) => join(home, `${name}.yaml`)

const CONFIG = `http: { on: true, port: 0 }
alx:
  domains:
    ${DOMAINS.block}: {}
    ${DOMAINS.agent}: { team: ${fileOf('agent')} }
    ${DOMAINS.events}: { team: ${fileOf('events')} }
`

/**
 * What the surface allows one client, raised to what this one asks: its speed is measured, and not its bounds. Every
 * request comes from one address and one user.
 */
const MANY = 1_000_000
const BOUNDS = {
  limits: {
    connections: MANY,
    requests: MANY,
    requestsOfConnection: MANY * 100,
    addressPerMinute: MANY * 100,
    principalPerMinute: MANY * 100,
    streams: MANY,
  },
}

/** What `next` allows to end; a step may be allowed before it begins. */
let allowed = 0
const waiting: (() => void)[] = []

function next(): void {
  const step = waiting.shift()
  if (step) step()
  else allowed++
}

const functions = {
  nothing: () => 'Done.',
  async whenTold() {
    if (allowed > 0) allowed--
    else await new Promise<void>(resolve => waiting.push(resolve))
    return 'Done.'
  },
}

const env = { ...process.env, HOME: home, PARLEY_HOME: join(home, '.parley') }
const profile = join(env.PARLEY_HOME, 'default')

function prepare(): void {
  mkdirSync(profile, { recursive: true, mode: 0o700 })
  writeFileSync(join(profile, 'config.yaml'), CONFIG, { mode: 0o600 })
  for (const name of ['agent', 'events'] as const) writeFileSync(fileOf(name), TEAMS[name])
}

interface Reached {
  readonly port: number
  readonly token: string
}

/** As a program gets there: the owner makes a token for its user over the profile's socket. */
async function reach(): Promise<Reached> {
  const { client } = unwrap(await connectNode({ env, home }))
  try {
    const { http } = await client.call('node', 'status', {})
    if (!http?.at) throw new Error(`HTTP is not open: ${http?.problem?.message}`)
    const { secret: token } = await client.call('tokens', 'create', { user: USER, scopes: [...SCOPES], name: 'bench' })
    return { port: Number(new URL(http.at).port), token }
  } finally {
    client.close()
  }
}

async function register({ port, token }: Reached, envelope: object): Promise<string> {
  const { status, text } = await exchange(registration(port, token, envelope))
  if (status === 201) return (JSON.parse(text) as { readonly kbHash: string }).kbHash
  throw new Error(`a block was not registered: ${status} ${text}`)
}

/** Many that could be meant, and one whose question is the intent's own words. */
async function registerBlocks(reached: Reached): Promise<void> {
  const block = { domain: DOMAINS.block, sources: [], tier: 'open' }
  let source = ''
  for (let index = 0; index < OTHER_BLOCKS; index++) {
    const rationale = `Practice ${index} for backups: keep copy ${index} elsewhere, and restore it once a month.`
    const payload = { type: 'practice', rationale, contexts: ['backups'], failureModes: [] }
    source = await register(reached, { ...block, type: 'practice', payload })
  }
  const question = `${INTENT.verb} ${INTENT.target}`
  const answer = 'Restore a backup once a month, on a machine that has never seen it.'
  const payload = { type: 'synthesis', question, answer, citations: { [source]: 'Practice' } }
  await register(reached, { ...block, type: 'synthesis', sources: [source], payload })
}

async function ready(): Promise<void> {
  const reached = await reach()
  await registerBlocks(reached)
  const { port, token } = reached
  const solve = (name: keyof typeof DOMAINS) => solveRequest(port, DOMAINS[name], { token })
  tell({ ready: { requests: { block: solve('block'), agent: solve('agent'), events: solve('events') } } })
}

let node: Node | undefined
serveCommands(() => node?.stop('the benchmark is over'), next)

function started(running: Node): void {
  node = running
  ready().catch(error => {
    console.error(error)
    process.exit(1)
  })
}

prepare()
const complain = (text: string) => process.stderr.write(text)
// Bounds are an option of the node that `runNode` passes on, and its type does not offer.
const options = { env, home, functions, complain, started, startedBy: 'up', httpBounds: BOUNDS } as const
// A node that does not start says so by its exit code, before it is ready.
process.exit(await runNode(options))
