// What people did outside of runs (with results of runs that are over, with tokens of the HTTP surface): recorded in
// the house under their name, before it is done (W-HWY-17). Mail of a person to the house's root, in JSON of ours.
import {
  compile,
  type ObjectId,
  ok,
  type Result,
  type RunId,
  type Static,
  type Timestamp,
  Type,
  unwrap,
} from '@parley/core'
import type { EnvelopeRecord, Runtime } from '@parley/kernel'
import { emptyInbox } from '../ask.ts'
import { coordinatorLimits } from '../limits.ts'
import { APPLY_WAYS, COPY } from '../view/view.ts'

const Text = Type.String({ minLength: 1 })
const Run = Type.Unsafe<RunId>(Text)

/** Files, index and usually the branch of one checkout go from one commit to another, or the files of a folder. */
const StepSchema = Type.Object({
  parley: Type.Enum(['apply', 'undo']),
  /** Of this step. */
  id: Text,
  run: Run,
  /** `patch`: files and index only, nothing is committed. `copy`: files of a project that is no repository. */
  how: Type.Enum([...APPLY_WAYS, COPY]),
  /** An undo: of which step. */
  of: Type.Optional(Text),
  folder: Text,
  /** As a ref; not where nothing is committed. */
  branch: Type.Optional(Text),
  from: Text,
  to: Text,
  /** Of an apply: the commit of the run that `to` takes over; earlier versions did not record it. */
  result: Type.Optional(Text),
  /** Where HEAD stays, if nothing is committed. */
  head: Type.Optional(Text),
})
export type Step = Readonly<Static<typeof StepSchema>>

const RecordSchema = Type.Union([
  StepSchema,
  /** A step that was recorded and could not be carried out: nothing of it is left. */
  Type.Object({ parley: Type.Literal('step_failed'), id: Text, run: Run, reason: Type.String() }),
  /** Kept work was merged into the result of a run that is over, or let go. */
  Type.Object({
    parley: Type.Literal('salvaged'),
    run: Run,
    task: Text,
    checkpoint: Text,
    commit: Text,
    take: Type.Boolean(),
  }),
  /** What was removed of a run that is over. */
  Type.Object({
    parley: Type.Literal('clean'),
    run: Run,
    refs: Type.Array(Type.Object({ ref: Text, commit: Text })),
    folder: Type.Boolean(),
  }),
  /** A token of the HTTP surface was made, revoked, or used on a day for the first time. Its secret is nowhere. */
  Type.Object({
    parley: Type.Literal('token'),
    act: Type.Enum(['created', 'revoked', 'used']),
    token: Text,
    /** Whose it is. */
    user: Text,
    name: Type.Optional(Text),
    scopes: Type.Optional(Type.Array(Text)),
    expires: Type.Optional(Text),
  }),
])
const record = compile(RecordSchema)
export const step = compile(StepSchema)
export type HouseRecord = Readonly<Static<typeof RecordSchema>>

type Written = HouseRecord & { readonly by: string; readonly at: Timestamp }

/** A step that was carried out. */
export interface Done extends Step {
  readonly by: string
  readonly at: Timestamp
}

export interface Application extends Done {
  /** The step that took it back. */
  readonly undone?: Done | undefined
}

export class HouseRecords {
  readonly #runtime: Runtime
  #known: Promise<Written[]> | undefined

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Durable when it resolves. */
  async write(by: string, said: HouseRecord): Promise<Result<void>> {
    const { house } = this.#runtime
    for (let tried = 1; ; tried++) {
      const { run } = house
      const to = await house.read(state => state.root!.id)
      // Nobody else takes the mail of the house, and an inbox that is full takes no more.
      await emptyInbox({ consume: () => house.submit({ type: 'consume', caller: to }) })
      const payload = { format: 'json', content: JSON.stringify(said) } as const
      const sent = await this.#runtime.user(by).inject(run, { to, type: 'directive', payload })
      // The house was succeeded meanwhile.
      if (!sent.ok && house.run !== run && tried < coordinatorLimits.houseAttempts) continue
      this.#known = undefined
      return sent.ok ? ok(undefined) : sent
    }
  }

  /** The applications of a run, the oldest first; without one, those of all runs. */
  async applications(run?: RunId): Promise<readonly Application[]> {
    const all = (await this.#all()).filter(each => run === undefined || ('run' in each && each.run === run))
    const failed = new Set(all.flatMap(each => (each.parley === 'step_failed' ? [each.id] : [])))
    const steps = all.filter((each): each is Done & Written => 'from' in each && !failed.has(each.id))
    return steps
      .filter(({ parley }) => parley === 'apply')
      .map(each => ({ ...each, undone: steps.find(({ of }) => of === each.id) }))
  }

  /** Whether a step was recorded, and nothing has said that it failed. */
  async stands(id: string): Promise<boolean> {
    const about = (await this.#all()).filter(each => 'id' in each && each.id === id)
    return about.length > 0 && about.every(({ parley }) => parley !== 'step_failed')
  }

  #all(): Promise<Written[]> {
    this.#known ??= readRecords(this.#runtime).catch(cause => {
      this.#known = undefined
      throw cause
    })
    return this.#known
  }
}

/** The oldest first. */
async function readRecords(runtime: Pick<Runtime, 'houses'>): Promise<Written[]> {
  const found: Written[] = []
  for (const trail of (await runtime.houses()).toReversed()) {
    for (let after = 0, more = true; more; ) {
      const query = { event_type: 'human_injection', after, limit: 256 }
      const page = unwrap(await trail.query(query, { kind: 'runtime' }))
      after = page.cursor
      more = page.more
      for (const { body, actor, timestamp } of page.entries) {
        const { envelope_id, status } = body as { readonly envelope_id: string; readonly status: string }
        const object = status === 'delivered' ? await trail.object(envelope_id as ObjectId) : undefined
        const said = parsed((object?.value as EnvelopeRecord | undefined)?.payload.content)
        if (record.is(said)) found.push({ ...said, by: actor, at: timestamp })
      }
    }
  }
  return found
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}
