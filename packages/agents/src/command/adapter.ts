// The `command` adapter: a turn is one run of a program in the workspace's folder.

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, join, resolve } from 'node:path'
import { assertNever, type Clock, ParleyError, SystemClock, type TurnResult } from '@parley/core'
import { agentDefaults, agentLimits } from '../limits.ts'
import { borrowed } from '../logins.ts'
import type { MeteredAdapter } from '../metering.ts'
import { presets } from '../presets.ts'
import { turnMarker } from '../processes.ts'
import { aborted, failed, makeAdapter, type Turn, type TurnEnd } from '../turn.ts'
import type { CommandPlan } from './config.ts'
import { childEnvironment, secretHider, type Variables } from './environment.ts'
import { startError } from './errors.ts'
import { AgentOutput, type OutputEnd } from './output.ts'
import { openLog } from './output-log.ts'
import { fillIn, promptText } from './prompt.ts'
import { type ProgramEnd, type ProgramRun, runProgram } from './spawn.ts'
import { TOKEN_FILE, withTokenFile } from './token-file.ts'

export interface CommandAdapterOptions {
  /** What a relative program is relative to: the folder of the file that has the configuration. */
  readonly base?: string | undefined
  readonly clock?: Clock
  /** The node's environment, of which an agent gets a part; this process's by default. */
  readonly environment?: Variables
  readonly grace?: number
  /** Where prompt files and the folders of turns without one are made. */
  readonly temporary?: string
  /** Where the files with the tokens of turns are made, each in its own folder; as `temporary` by default. */
  readonly tokens?: string | undefined
  /** A file that gets everything that the program prints. */
  readonly log?: string | undefined
}

/** Exit code that means "not now": EX_TEMPFAIL of sysexits(3). */
export const EXIT_BLOCKED = 75

interface Agent extends Required<Pick<CommandAdapterOptions, 'clock' | 'environment' | 'grace' | 'temporary'>> {
  readonly name: string
  readonly plan: CommandPlan
  readonly base: string
  readonly tokens: string
  readonly log: string | undefined
}

export function programAdapter(name: string, plan: CommandPlan, options: CommandAdapterOptions): MeteredAdapter {
  const { clock = new SystemClock(), environment = process.env, grace = agentDefaults.graceMs } = options
  const { temporary = tmpdir(), tokens = temporary, log } = options
  const agent = { name, plan, clock, environment, grace, temporary, tokens, log, base: resolve(options.base ?? '.') }
  return makeAdapter({ name, kind: 'command', clock, take: turn => take(agent, turn) })
}

async function take(agent: Agent, turn: Turn): Promise<TurnEnd> {
  const { folder } = turn.input
  if (folder !== undefined && !(await isFolder(folder))) return { result: failed(noFolder(folder)), outputBytes: 0 }
  const { token } = turn.input
  if (token === undefined) return prepared(agent, turn, {})
  return withTokenFile(token, agent.tokens, file => prepared(agent, turn, { [TOKEN_FILE]: file }))
}

async function prepared(agent: Agent, turn: Turn, more: Variables): Promise<TurnEnd> {
  const { folder } = turn.input
  const needsTemporary = folder === undefined || agent.plan.prompt === 'file'
  if (!needsTemporary) return runTurn(agent, turn, folder, '', more)
  const temporary = await mkdtemp(join(agent.temporary, 'parley-turn-'))
  try {
    const file = agent.plan.prompt === 'file' ? join(temporary, 'prompt.md') : ''
    if (file !== '') await writeFile(file, promptText(turn.input), { mode: 0o600, flag: 'wx' })
    return await runTurn(agent, turn, folder ?? temporary, file, more)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function runTurn(
  agent: Agent,
  turn: Turn,
  folder: string,
  promptFile: string,
  more: Variables,
): Promise<TurnEnd> {
  const { input, emit } = turn
  const { signal } = input
  if (signal.aborted) return { result: aborted(signal.reason), outputBytes: 0 }
  const prompt = agent.plan.prompt === 'argument' || agent.plan.prompt === 'stdin' ? promptText(input) : ''
  if (agent.plan.prompt === 'argument' && Buffer.byteLength(prompt) > agentLimits.argumentBytes)
    return { result: failed(promptTooLarge(agent.name, prompt)), outputBytes: 0 }
  const marker = turnMarker(input)
  const own = childEnvironment({
    node: agent.environment,
    pass: agent.plan.pass,
    env: agent.plan.env,
    turn: { ...input.environment, ...more },
    marker,
    folder,
  })
  const { preset } = agent.plan
  const environment = { ...own, ...(preset && borrowed(preset.name, own)) }
  const log = agent.log === undefined ? undefined : await openLog(agent.log)
  const output = new AgentOutput({
    output: agent.plan.output,
    clock: agent.clock,
    emit,
    log: log?.line,
    hide: secretHider({ ...environment, ...(input.token !== undefined && { PARLEY_TOKEN: input.token }) }),
  })
  const run: ProgramRun = {
    command: commandOf(agent, turn, folder, prompt, promptFile),
    folder,
    environment,
    marker,
    clock: agent.clock,
    grace: agent.grace,
    timeoutMs: agent.plan.timeoutMs,
    maxOutput: agent.plan.maxOutput,
    signal,
    stdout: bytes => output.stdout(bytes),
    stderr: bytes => output.stderr(bytes),
    ...(agent.plan.prompt === 'stdin' && { input: preset ? presets[preset.name].input(prompt) : prompt }),
  }
  const end = await runProgram(run)
  const said = output.end()
  await log?.end()
  if (end.cause === 'start')
    return { result: failed(startError(agent.name, run.command[0], end.error)), outputBytes: 0 }
  tellLeftovers(turn, end)
  return { result: resultOf(agent, turn, end, said, basename(run.command[0])), outputBytes: end.outputBytes }
}

function commandOf(
  agent: Agent,
  turn: Turn,
  folder: string,
  prompt: string,
  promptFile: string,
): readonly [string, ...string[]] {
  const { agent: member, task = '' } = turn.input
  const values = { prompt, prompt_file: promptFile, folder, base: agent.base, agent: member, task }
  const [program, ...args] = agent.plan.command
  const filled = fillIn(program, values)
  // A name without a slash is looked up on PATH.
  const found = filled.includes('/') && !isAbsolute(filled) ? resolve(agent.base, filled) : filled
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
  const who = `The agent ${agent.name} (${program})`
  switch (end.cause) {
    case 'aborted':
      return aborted(turn.input.signal.reason, usage)
    case 'timeout': {
      const message = `${who} was not done after ${agent.plan.timeoutMs} ms and was ended. If it needs longer, raise its \`timeout\`.`
      return failed(new ParleyError('timeout', message, { retryable: true, details: { stderr } }), usage)
    }
    case 'output_limit': {
      const message = `${who} printed more than ${agent.plan.maxOutput} bytes and was ended. Let it print less, or raise its \`max_output\`.`
      return failed(new ParleyError('output_limit', message, { details: { stderr } }), usage)
    }
    case 'exit':
      break
    default:
      assertNever(end.cause)
  }
  const { exitCode, signal } = end
  if (exitCode === EXIT_BLOCKED || (exitCode === 0 && said.blocked !== undefined)) {
    const reason = said.blocked ?? (said.lastWords || 'the agent asked to be run again later')
    return { outcome: 'blocked', reason, usage }
  }
  const reported = said.failed === undefined ? {} : { reported: said.failed }
  const words = said.failed ?? said.lastWords
  if (exitCode !== 0) {
    const how = signal === null ? `ended with exit code ${exitCode}` : `was ended by ${signal}`
    const message = `${who} ${how}${words === '' ? '.' : `: ${words}`}`
    const output = said.text.slice(-agentLimits.stderrBytes)
    const details = { exitCode, signal, stderr, output, ...reported }
    return failed(new ParleyError('exit_nonzero', message, { details }), usage)
  }
  if (said.failed !== undefined)
    return failed(
      new ParleyError('agent_error', `${who} says that it failed: ${words}`, {
        details: { stderr, ...reported },
      }),
      usage,
    )
  return { outcome: 'complete', text: said.text, usage }
}

function tellLeftovers({ emit }: Turn, { leftBehind, left }: Exclude<ProgramEnd, { cause: 'start' }>): void {
  if (leftBehind > 0) {
    const what = leftBehind === 1 ? '1 process' : `${leftBehind} processes`
    emit({ type: 'notice', text: `The agent left ${what} running; the end of the turn ended that too.` })
  }
  if (left.length > 0) emit({ type: 'notice', text: `Could not end: process ${left.join(', ')}.` })
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

function noFolder(folder: string): ParleyError {
  const message = `The folder of the turn is not there: ${folder}. It is made again when the task is given out anew.`
  return new ParleyError('folder_missing', message, { details: { folder } })
}

function promptTooLarge(name: string, prompt: string): ParleyError {
  const bytes = Buffer.byteLength(prompt)
  const message = `The prompt for the agent ${name} has ${bytes} bytes; an argument holds ${agentLimits.argumentBytes}. Use \`prompt: stdin\` or {prompt_file}.`
  return new ParleyError('prompt_too_large', message, { details: { bytes } })
}
