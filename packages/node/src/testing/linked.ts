// Nodes of two people, each with a home of its own, that link over loopback. What their agents say and when they end is
// decided by the test through files, so that nothing depends on time.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { AskedValue } from '../operations/link.ts'
import type { Environment } from '../profile/paths.ts'
import { type Ground, ground } from './ground.ts'
import { realNode } from './real.ts'

export const EVERY_METHOD = ['link.ping', 'link.ask', 'link.cancel']

/**
 * Says that it is at work and what that has cost, waits as long as `hold` is there, and answers what `answer` holds.
 */
const AGENT = `
cat > "$STAGE/prompt.part"; mv "$STAGE/prompt.part" "$STAGE/prompt"
echo '{"type":"text","text":"at work"}'
echo '{"type":"usage","tokens_in":100,"tokens_out":20,"usd":0.25}'
while [ -e "$STAGE/hold" ]; do sleep 0.02; done
printf '{"type":"result","text":"%s"}\\n' "$(cat "$STAGE/answer")"
`

/** Where the agent of a node plays. */
export class Stage {
  readonly folder: string

  constructor(place: Ground) {
    this.folder = join(place.home, 'stage')
    mkdirSync(this.folder, { recursive: true })
    writeFileSync(join(place.home, 'agent.sh'), AGENT)
    this.answer('a word')
  }

  answer(text: string): void {
    writeFileSync(join(this.folder, 'answer'), text)
  }

  hold(): void {
    writeFileSync(join(this.folder, 'hold'), '')
  }

  release(): void {
    rmSync(join(this.folder, 'hold'), { force: true })
  }

  /** What the agent was told last. */
  get prompt(): string {
    return readFileSync(join(this.folder, 'prompt'), 'utf8')
  }

  /** Its turn has begun. */
  async atWork(): Promise<void> {
    const file = join(this.folder, 'prompt')
    await expect.poll(() => existsSync(file), { timeout: 20_000, interval: 10 }).toBe(true)
  }

  forgetPrompt(): void {
    rmSync(join(this.folder, 'prompt'), { force: true })
  }
}

/** A profile with one agent that plays on a stage. */
export function linkedGround(name: string, config = ''): { readonly place: Ground; readonly stage: Stage } {
  const place = ground(name)
  const stage = new Stage(place)
  configure(place, config)
  return { place, stage }
}

export function configure(place: Ground, config: string): void {
  place.write(
    'default/config.yaml',
    `default_agent: player
agents:
  player:
    command: [sh, ${JSON.stringify(join(place.home, 'agent.sh'))}]
    output: json-lines
    env: { STAGE: ${JSON.stringify(join(place.home, 'stage'))} }
${config}`,
  )
}

export type LinkedNode = Awaited<ReturnType<typeof linkedNode>>

export async function linkedNode(name: string, config = '', env: Environment = {}) {
  const { place, stage } = linkedGround(name, config)
  return startLinked(name, place, stage, env)
}

/** Again, as a new process would. */
export async function startLinked(
  name: string,
  place: Ground,
  stage: Stage,
  env: Environment = {},
  more: Parameters<typeof realNode>[2] = {},
) {
  const started = await realNode(place, env, more)
  const { client } = started
  const identity = () => client.call('link', 'identity', {})
  const asked = (peer: string, prompt: string, more: object = {}) =>
    client.subscribe('link', 'ask', { peer, prompt, ...more }) as AsyncIterable<AskedValue>
  const answer = async (peer: string, prompt: string, more: object = {}) => {
    for await (const value of asked(peer, prompt, more)) if (value.type === 'answer') return value
    throw new Error('no answer came')
  }
  return { ...started, name, place, stage, identity, asked, answer }
}

/** `who` pins `whom` by the line that its owner sends. */
export async function pin(who: LinkedNode, whom: LinkedNode, more: object = {}) {
  const { invitation } = await whom.identity()
  const { peer } = await who.client.call('peers', 'pin', {
    invitation,
    id: whom.name,
    allow: EVERY_METHOD,
    ...more,
  })
  return peer
}

export async function pinBoth(one: LinkedNode, other: LinkedNode): Promise<void> {
  await pin(one, other)
  await pin(other, one)
}

/** Alice, and bob with this configuration, who have pinned each other. */
export async function linkedPair(config = ''): Promise<readonly [LinkedNode, LinkedNode]> {
  const [alice, bob] = [await linkedNode('alice'), await linkedNode('bob', config)]
  await pinBoth(alice, bob)
  return [alice, bob]
}

/** The newest run of a node, over. */
export async function lastRun({ client, ended }: LinkedNode) {
  const { runs } = await client.call('runs', 'list', { limit: 1 })
  return ended(runs[0]!.run)
}

export function ledgerOf(place: Ground) {
  return JSON.parse(readFileSync(place.path('default', 'logs', 'ledger.json'), 'utf8')) as {
    readonly by_peer: Readonly<Record<string, { readonly usd: number; readonly tokens: number }>>
    readonly reserved?: Readonly<Record<string, unknown>>
  }
}
