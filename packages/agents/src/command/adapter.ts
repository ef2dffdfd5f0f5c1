// The `command` adapter: a turn is one run of a program in the workspace's folder.
import { realpathSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, join, resolve } from 'node:path'
import {
  assertNever,
  type Clock,
  durationMs,
  durationText,
  ParleyError,
  SystemClock,
  sizeText,
  type TurnResult,
} from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { borrowed } from '../logins.ts'
import type { MeteredAdapter } from '../metering.ts'
import { type Outage, outageText } from '../outage/outage.ts'
import { Patience } from '../outage/patience.ts'
import { presets } from '../presets.ts'
import { turnMarker } from '../processes.ts'
import { aborted, failed, makeAdapter, type Turn, type TurnEnd } from '../turn.ts'
import { commandText } from './command-text.ts'
import type { CommandPlan, KnownProgram } from './config.ts'
import { childEnvironment, passedOn, secretHider, type Variables } from './environment.ts'
import { startError } from './errors.ts'
import { AgentOutput, type OutputEnd } from './output.ts'
import { openLog } from './output-log.ts'
import type { JsonObject } from './parsers/parser.ts'
import { fillIn, type Placeholders, promptText } from './prompt.ts'
import { type ProgramEnd, type ProgramRun, runProgram } from './spawn.ts'
import { withTelemetry } from './telemetry.ts'
import { TOKEN_FILE, type TurnFiles, withTokenFile, withTurnFiles } from './turn-files.ts'
import { layOut, wirings } from './wiring.ts'

export interface CommandAdapterOptions {
  /** What a relative program is relative to: the folder of the file that has the configuration. */
  readonly base?: string | undefined
  readonly clock?: Clock
  /** The node's environment, of which an agent gets a part; this process's by default. */
  readonly environment?: Variables
  readonly grace?: number
  /** Where prompt files and the folders of turns without one are made. */
  readonly temporary?: string
  /** Where the private files of turns are made, each in its own folder; as `temporary` by default. */
  readonly tokens?: string | undefined
  /** A file that gets everything that the program prints. */
  readonly log?: string | undefined
  /** No agent, but a check or a setup: messages name its command. */
  readonly check?: boolean | undefined
  /** The folder of `parley`, for programs that get its tools. */
  readonly bin?: string | undefined
}

/** Exit code that means "not now": EX_TEMPFAIL of sysexits(3). */
export const EXIT_BLOCKED = 75

interface Agent extends Required<Pick<CommandAdapterOptions, 'clock' | 'environment' | 'grace' | 'temporary'>> {
  readonly name: string
  readonly check: boolean
  readonly plan: CommandPlan
  readonly base: string
  readonly tokens: string
  readonly log: string | undefined
  readonly bin: string | undefined
}

/** What a turn has because it has a token. */
interface Inside {
  readonly environment: Variables
  readonly wired: readonly string[]
  /** A file that gets the program's telemetry. */
  readonly telemetry?: string
}

export function programAdapter(name: string, plan: CommandPlan, options: CommandAdapterOptions): MeteredAdapter {
  const { clock = new SystemClock(), environment = process.env, grace = agentDefaults.graceMs } = options
  const { temporary = tmpdir(), tokens = temporary } = options
  const { base = '.', bin, log, check = false } = options
  const agent = { name, check, plan, clock, environment, grace, temporary, tokens, bin, log, base: resolve(base) }
  // Known programs get tools, since they ask their user before they run a command, or run none.
  const verbs = bin === undefined ? {} : { verbs: plan.preset ? ('tools' as const) : ('shell' as const) }
  const reach = { folder: true, ...verbs }
  return makeAdapter({ name, kind: 'command', reach, clock, take: turn => take(agent, turn) })
}

async function take(agent: Agent, turn: Turn): Promise<TurnEnd> {
  const { folder } = turn.input
  if (folder !== undefined && !isFolder(folder)) return { result: failed(noFolder(folder)), outputBytes: 0 }
  const { token, environment } = turn.input
  const { plan, bin, tokens } = agent
  if (token === undefined) return prepared(agent, turn, { environment: {}, wired: [] })
  const { preset } = plan
  if (!preset || bin === undefined)
    return withTokenFile(tokens, token, file =>
      prepared(agent, turn, { environment: { [TOKEN_FILE]: file }, wired: [] }),
    )
  const given = { token, place: tokens, environment }
  return withTurnFiles(given, async files => prepared(agent, turn, await insideOf(agent, turn, files, { preset, bin })))
}

/** A known program gets the tools of `parley mcp`. */
async function insideOf(
  { plan, environment: node }: Agent,
  turn: Turn,
  files: TurnFiles,
  { preset, bin }: { readonly preset: KnownProgram; readonly bin: string },
): Promise<Inside> {
  const environment = { ...passedOn(node, plan.pass), ...plan.env, ...turn.input.environment }
  const server = [join(bin, 'parley'), 'mcp', '--turn', files.turn] as const
  const { folder } = files
  const replaceable = turn.input.patienceMs !== undefined
  const wiring = wirings[preset.name]({ server, folder, environment, replaceable })
  await layOut(folder, wiring)
  const telemetry = wiring.telemetry === undefined ? {} : { telemetry: join(folder, wiring.telemetry) }
  return { environment: { [TOKEN_FILE]: files.token, ...wiring.env }, wired: wiring.args, ...telemetry }
}

async function prepared(agent: Agent, turn: Turn, inside: Inside): Promise<TurnEnd> {
  const { folder } = turn.input
  const needsTemporary = folder === undefined || agent.plan.prompt === 'file'
  if (!needsTemporary) return runTurn(agent, turn, { folder, promptFile: '', inside })
  const temporary = await mkdtemp(join(agent.temporary, 'parley-turn-'))
  try {
    const file = agent.plan.prompt === 'file' ? join(temporary, 'prompt.md') : ''
    if (file !== '') await writeFile(file, promptText(turn.input), { mode: 0o600, flag: 'wx' })
    return await runTurn(agent, turn, { folder: folder ?? temporary, promptFile: file, inside })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

interface Place {
  readonly folder: string
  readonly promptFile: string
  readonly inside: Inside
}

/** A conversation that cannot be continued is begun anew, in the time that is left. */
async function runTurn(agent: Agent, turn: Turn, place: Place): Promise<TurnEnd> {
  const { session } = turn.input
  if (session === undefined || !agent.plan.preset) return runProgramOf(agent, turn, place, undefined)
  const began = agent.clock.now()
  const resumed = await runProgramOf(agent, turn, place, session)
  if (!resumed.refused) return resumed
  turn.emit({
    type: 'notice',
    text: `The session ${session} could not be resumed (${resumed.refused}); a new one begins.`,
  })
  const timeoutMs = Math.max(1, agent.plan.timeoutMs - durationMs(began, agent.clock.now()))
  return runProgramOf({ ...agent, plan: { ...agent.plan, timeoutMs } }, turn, place, undefined)
}

/** `refused`: the program could not continue the conversation, and did nothing else. */
async function runProgramOf(
  agent: Agent,
  turn: Turn,
  { folder, promptFile, inside }: Place,
  session: string | undefined,
): Promise<TurnEnd & { readonly refused?: string }> {
  const { input, emit } = turn
  const { signal, task = '' } = input
  if (signal.aborted) return { result: aborted(signal.reason), outputBytes: 0 }
  const resumed = session !== undefined
  const prompt = agent.plan.prompt === 'argument' || agent.plan.prompt === 'stdin' ? promptText(input, { resumed }) : ''
  if (agent.plan.prompt === 'argument' && Buffer.byteLength(prompt) > agentLimits.argumentBytes)
    return { result: failed(promptTooLarge(agent.name, prompt)), outputBytes: 0 }
  const marker = turnMarker(input)
  const own = childEnvironment({
    node: agent.environment,
    pass: agent.plan.pass,
    env: agent.plan.env,
    turn: { ...input.environment, ...inside.environment },
    marker,
    folder,
  })
  const { preset } = agent.plan
  const environment = { ...own, ...(preset && borrowed(preset.name, own)) }
  const log = agent.log === undefined ? undefined : await openLog(agent.log)
  const patience = new Patience(agent.clock, input.patienceMs)
  const output = new AgentOutput({
    output: agent.plan.output,
    clock: agent.clock,
    emit,
    log: log?.line,
    hide: secretHider({ ...environment, ...(input.token !== undefined && { PARLEY_TOKEN: input.token }) }),
    folders: namesOf(folder),
    patience,
  })
  const { command } = agent.plan
  const parts = preset ? preset.command({ wired: inside.wired, session, usd: input.budget?.usd }) : command
  const run: ProgramRun = {
    command: commandOf(agent, parts, {
      prompt,
      prompt_file: promptFile,
      folder,
      base: agent.base,
      agent: input.agent,
      task,
    }),
    folder,
    environment,
    marker,
    clock: agent.clock,
    grace: agent.grace,
    timeoutMs: agent.plan.timeoutMs,
    maxOutput: agent.plan.maxOutput,
    signal: AbortSignal.any([signal, patience.signal]),
    stdout: bytes => output.stdout(bytes),
    stderr: bytes => output.stderr(bytes),
    ...(agent.plan.prompt === 'stdin' && { input: preset ? presets[preset.name].input(prompt) : prompt }),
  }
  const { telemetry } = inside
  const take = (line: JsonObject) => output.telemetry(line)
  const end = await (telemetry === undefined
    ? runProgram(run)
    : withTelemetry(telemetry, agent.clock, take, () => runProgram(run)))
  patience.calm()
  const said = output.end()
  await log?.end()
  if (end.cause === 'start')
    return { result: failed(startError(whoOf(agent), run.command[0], end.error)), outputBytes: 0 }
  const { outputBytes } = end
  const result = resultOf(agent, turn, end, said, basename(run.command[0]))
  const refused = resumed && end.cause === 'exit' && result.outcome === 'failed' && said.idle && !said.outage
  if (refused) return { result, outputBytes, refused: said.failed ?? (said.lastWords || 'it did not say why') }
  tellLeftovers(turn, end)
  return {
    result: said.session === undefined ? result : { ...result, session: { id: said.session, resumed } },
    outputBytes,
  }
}

function commandOf(
  { base }: Agent,
  [program, ...args]: readonly [string, ...string[]],
  values: Placeholders,
): readonly [string, ...string[]] {
  const filled = fillIn(program, values)
  // A name without a slash is looked up on PATH.
  const found = filled.includes('/') && !isAbsolute(filled) ? resolve(base, filled) : filled
  return [found, ...args.map(arg => fillIn(arg, values))]
}

function resultOf(
  agent: Agent,
  turn: Turn,
  end: Exclude<ProgramEnd, { cause: 'start' }>,
  said: OutputEnd,
  program: string,
): TurnResult {
  const { usage, stderr } = said
  const who = whoOf(agent, program)
  switch (end.cause) {
    case 'aborted':
      if (said.refused && !turn.input.signal.aborted) return gaveUp(who, said.refused, said)
      return aborted(turn.input.signal.reason, usage, said.refused)
    case 'timeout': {
      const message = `${who} was not done after ${durationText(agent.plan.timeoutMs)} and was ended. If it needs longer, raise its \`timeout\`.`
      return failed(
        new ParleyError('timeout', message, { retryable: true, details: { stderr, ...given(said.refused) } }),
        usage,
      )
    }
    case 'output_limit': {
      const message = `${who} printed more than ${sizeText(agent.plan.maxOutput)} and was ended. Let it print less, or raise its \`max_output\`.`
      return failed(new ParleyError('output_limit', message, { details: { stderr } }), usage)
    }
    case 'exit':
      break
    default:
      assertNever(end.cause)
  }
  const { exitCode, signal } = end
  if (said.exhausted) {
    const message = `${who} has spent what it may and ended.`
    return failed(new ParleyError('budget_exceeded', message, { details: { stderr } }), usage)
  }
  if (exitCode === EXIT_BLOCKED || (exitCode === 0 && said.blocked !== undefined)) {
    const reason = said.blocked ?? (said.lastWords || 'the agent asked to be run again later')
    return { outcome: 'blocked', reason, usage }
  }
  if (exitCode !== 0) {
    const words = said.failed ?? said.lastWords
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`
    const message = `${who} ${how}${words === '' ? '.' : `: ${words}`}`
    const output = said.text.slice(-agentLimits.stderrBytes)
    const reported = said.failed === undefined ? {} : { reported: said.failed }
    const details = { exitCode, signal, stderr, output, ...reported, ...given(said.outage) }
    return failed(new ParleyError('exit_nonzero', message, { details }), usage)
  }
  if (said.failed !== undefined) {
    const details = { stderr, reported: said.failed, ...given(said.outage) }
    return failed(new ParleyError('agent_error', `${who} says that it failed: ${said.failed}`, { details }), usage)
  }
  return { outcome: 'complete', text: said.text, usage }
}

function whoOf({ name, check, plan }: Agent, program?: string): string {
  if (check) return `\`${commandText(plan.command)}\``
  return `The agent ${name}${program === undefined ? '' : ` (${program})`}`
}

function given(outage: Outage | undefined): { readonly outage?: Outage } {
  return outage === undefined ? {} : { outage }
}

/** Somebody else can take over. */
function gaveUp(who: string, outage: Outage, { stderr, usage }: OutputEnd): TurnResult {
  const message = `${who} was ended: ${outageText(outage)}.`
  return failed(new ParleyError('agent_unavailable', message, { retryable: true, details: { stderr, outage } }), usage)
}

function tellLeftovers({ emit }: Turn, { leftBehind, left }: Exclude<ProgramEnd, { cause: 'start' }>): void {
  if (leftBehind > 0) {
    const what = leftBehind === 1 ? '1 process' : `${leftBehind} processes`
    emit({ type: 'notice', text: `The agent left ${what} running; the end of the turn ended that too.` })
  }
  if (left.length > 0) emit({ type: 'notice', text: `Could not end: process ${left.join(', ')}.` })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** As it is called and as it is, the longer one first. */
function namesOf(folder: string): readonly string[] {
  try {
    return [folder, realpathSync.native(folder)].toSorted((one, other) => other.length - one.length)
  } catch {
    return [folder]
  }
}

function noFolder(folder: string): ParleyError {
  const message = `The folder of the turn is not there: ${folder}. It is made again when the task is given out anew.`
  return new ParleyError('folder_missing', message, { details: { folder } })
}

function promptTooLarge(name: string, prompt: string): ParleyError {
  const size = Buffer.byteLength(prompt)
  const message = `The prompt for the agent ${name} has ${sizeText(size)}; an argument holds ${sizeText(agentLimits.argumentBytes + 1)}. Use \`prompt: stdin\` or {prompt_file}.`
  return new ParleyError('prompt_too_large', message, { details: { bytes: size } })
}
